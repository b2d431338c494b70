//! An argument as a number, of any type.

use cuda_driver_sys::*;

/// Every type of an argument.
pub(crate) trait Word: Copy {
    /// Its value; for a pointer, the address. Zero for structs, whose fields are not examined here.
    fn word(self) -> u64;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl Word for $type {
            fn word(self) -> u64 {
                // Signed numbers keep their bits.
                self as i64 as u64
            }
        }
    )* };
}
numbers!(u8 u16 u32 i32 u64 usize);

impl Word for f32 {
    fn word(self) -> u64 {
        self.to_bits().into()
    }
}

impl<T> Word for *mut T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Word for *const T {
    fn word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

macro_rules! enums {
    ($($type:ident)*) => { $(
        impl Word for $type {
            fn word(self) -> u64 {
                self.0.into()
            }
        }
    )* };
}
enums! {
    CUaddress_mode CUarray_format CUcoredumpSettings CUdevResourceType CUdevice_P2PAttribute
    CUdevice_attribute CUexecAffinityType CUfilter_mode CUflushGPUDirectRDMAWritesScope
    CUflushGPUDirectRDMAWritesTarget CUfunc_cache CUfunction_attribute CUgraphMem_attribute
    CUjitInputType CUlaunchAttributeID CUlimit CUlogicalEndpointIpcHandleType
    CUmemAllocationGranularity_flags CUmemAllocationHandleType CUmemAllocationType CUmemPool_attribute
    CUmemRangeHandleType CUmem_advise CUmem_range_attribute CUmulticastGranularity_flags
    CUpointer_attribute CUresult CUsharedconfig CUstreamCaptureMode CUtensorMapAllocClass
    CUtensorMapDataType CUtensorMapFloatOOBfill CUtensorMapIm2ColWideMode CUtensorMapInterleave
    CUtensorMapL2promotion CUtensorMapSwizzle
}

macro_rules! functions {
    ($($type:ident)*) => { $(
        impl Word for $type {
            fn word(self) -> u64 {
                self.map_or(0, |function| function as usize as u64)
            }
        }
    )* };
}
functions! {
    CUasyncCallback CUcoredumpStatusCallback CUgraphRecaptureCallback CUhostFn CUlogsCallback CUoccupancyB2DSize CUstreamCallback
}

macro_rules! structs {
    ($($type:ident)*) => { $(
        impl Word for $type {
            fn word(self) -> u64 {
                0
            }
        }
    )* };
}
structs!(CUipcEventHandle CUipcMemHandle CUmemLocation);
