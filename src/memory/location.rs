//! Where memory is, or should be.

#![allow(unsafe_code)] // Reads the number of a location, a plain number in every variant of its union.

use cuda_driver_sys::{CUmemLocation, CUmemLocation__bindgen_ty_1, CUmemLocationType as L, CUresult};

use crate::driver::CudaContext;
use crate::error::{Error, failed};

/// A device, or the host (`CUmemLocation`).
///
/// ```
/// use cuda_launch::memory::MemoryLocation;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// assert_eq!(MemoryLocation::from(&ctx), MemoryLocation::Device(0));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "CUmemLocation")]
pub enum MemoryLocation {
    /// The device with this ordinal.
    Device(i32),
    /// The host.
    Host,
    /// A NUMA node of the host.
    HostNode(i32),
    /// The NUMA node of the calling thread.
    CurrentHostNode,
    /// A location that only newer drivers know: its type and its number.
    Other(u32, i32),
}

impl MemoryLocation {
    /// The driver's form.
    pub fn to_raw(self) -> CUmemLocation {
        let (type_, id) = match self {
            Self::Device(id) => (L::CU_MEM_LOCATION_TYPE_DEVICE, id),
            Self::Host => (L::CU_MEM_LOCATION_TYPE_HOST, 0),
            Self::HostNode(id) => (L::CU_MEM_LOCATION_TYPE_HOST_NUMA, id),
            Self::CurrentHostNode => (L::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0),
            Self::Other(kind, id) => (L(kind), id),
        };
        CUmemLocation { type_, __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id } }
    }

    /// From the driver's form.
    ///
    /// Not for safe code, which could make a union of which some bytes were never written:
    ///
    /// ```compile_fail,E0133
    /// use cuda_launch::memory::MemoryLocation;
    /// use cuda_launch::sys;
    /// let localized = sys::CUmemLocation__bindgen_ty_1_localized { deviceId: 0, localityDomainId: 0 };
    /// let number = sys::CUmemLocation__bindgen_ty_1 { localized }; // two bytes of four
    /// let type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    /// MemoryLocation::from_raw(sys::CUmemLocation { type_, __bindgen_anon_1: number });
    /// ```
    ///
    /// # Safety
    /// 1. The member `id` was written, or all bytes: by the driver, `Default`, or [`MemoryLocation::to_raw`].
    pub unsafe fn from_raw(raw: CUmemLocation) -> Self {
        // SAFETY: the caller's duty 1; any bits are a number.
        let id = unsafe { raw.__bindgen_anon_1.id };
        match raw.type_ {
            L::CU_MEM_LOCATION_TYPE_DEVICE => Self::Device(id),
            L::CU_MEM_LOCATION_TYPE_HOST => Self::Host,
            L::CU_MEM_LOCATION_TYPE_HOST_NUMA => Self::HostNode(id),
            L::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Self::CurrentHostNode,
            other => Self::Other(other.0, id),
        }
    }

    /// As older functions number locations: devices from 0, the host -1, none -2.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            cuda_driver_sys::CU_DEVICE_CPU => Some(Self::Host),
            cuda_driver_sys::CU_DEVICE_INVALID => None,
            device => Some(Self::Device(device)),
        }
    }
}

impl From<&CudaContext> for MemoryLocation {
    fn from(context: &CudaContext) -> Self {
        Self::Device(context.raw_device())
    }
}

/// The error for a buffer of memory that its device may not read and write.
#[cold]
pub(super) fn not_permitted(
    call: &'static str,
    device: MemoryLocation,
    access: MemoryAccess,
    grant: &str,
) -> Error {
    let asked = format!(
        "{device:?} has access {access:?}, but kernels read and write a buffer; grant it ReadWrite with {grant} first"
    );
    failed(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, call, asked)
}

/// What a device may do with memory that it was granted access to (`CUmemAccess_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "CUmemAccess_flags")]
pub enum MemoryAccess {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
    /// A value that only newer drivers know.
    Other(u32),
}

impl MemoryAccess {
    /// The driver's form.
    pub fn to_raw(self) -> cuda_driver_sys::CUmemAccess_flags {
        use cuda_driver_sys::CUmemAccess_flags as F;
        match self {
            Self::None => F::CU_MEM_ACCESS_FLAGS_PROT_NONE,
            Self::Read => F::CU_MEM_ACCESS_FLAGS_PROT_READ,
            Self::ReadWrite => F::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            Self::Other(flags) => F(flags),
        }
    }

    /// From the driver's form.
    pub fn from_raw(raw: cuda_driver_sys::CUmemAccess_flags) -> Self {
        use cuda_driver_sys::CUmemAccess_flags as F;
        match raw {
            F::CU_MEM_ACCESS_FLAGS_PROT_NONE => Self::None,
            F::CU_MEM_ACCESS_FLAGS_PROT_READ => Self::Read,
            F::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Self::ReadWrite,
            other => Self::Other(other.0),
        }
    }

    /// The description that the driver takes.
    pub(super) fn of(self, location: MemoryLocation) -> cuda_driver_sys::CUmemAccessDesc {
        cuda_driver_sys::CUmemAccessDesc { location: location.to_raw(), flags: self.to_raw() }
    }
}
