//! Values of enumerations that a driver as of an earlier version does not know yet.

use cuda_driver_sys::*;

use super::entry::{INVALID_VALUE, Outcome};
use super::state;

/// A value of an enumeration of the header.
pub(super) trait Known: Copy {
    /// The driver version that introduced it; 0 if CUDA 11.8 has it.
    fn since(self) -> u32;

    /// The value; `CUDA_ERROR_INVALID_VALUE` if it was introduced after the version that the driver reports.
    fn known(self) -> Outcome<Self> {
        let since = self.since();
        if since == 0 || since <= state::version() as u32 { Ok(self) } else { Err(INVALID_VALUE) }
    }
}

macro_rules! known {
    ($($enumeration:ident)*) => {
        $(impl Known for $enumeration {
            fn since(self) -> u32 {
                value_since(stringify!($enumeration), self.0)
            }
        })*
    };
}

known! {
    CUarray_format CUctx_flags CUdevice_P2PAttribute CUdevice_attribute CUgraphDebugDot_flags CUgraphInstantiate_flags CUjit_option CUlaunchAttributeID
    CUlimit CUmemAllocationHandleType CUmemAllocationType CUmemLocationType CUmem_range_attribute CUpointer_attribute
}

/// Refuses flags if one was introduced after the version that the driver reports.
pub(super) fn known_flags<T: Known>(flags: u32, flag: impl Fn(u32) -> T) -> Outcome {
    let bits = (0..u32::BITS).map(|at| 1 << at).filter(|bit| flags & bit != 0);
    bits.map(flag).try_for_each(|flag| flag.known().map(drop))
}
