//! Requests for memory that cannot be met.

use cuda_driver_sys::CUresult;

use super::entry::OUT_OF_MEMORY;
use super::logs;
use crate::memory::Memory;

/// The code for a request for memory of a device; the log says how much there is, and what limits it.
#[cold]
pub(super) fn exhausted(memory: &Memory, bytes: u64) -> CUresult {
    let capacity = memory.capacity();
    let free = capacity.saturating_sub(memory.used());
    if bytes <= free {
        return exhausted_host(bytes);
    }
    logs::because(format!("{bytes} bytes were asked for, and {free} of the device's {capacity} are free"));
    logs::advise(
        "free device memory, or request less; CUDA_LAUNCH_EMULATOR_MEMORY and `InstanceOptions::memory` say how much the emulator's device has",
    );
    OUT_OF_MEMORY
}

/// The same for memory that the machine does not have.
#[cold]
pub(super) fn exhausted_host(bytes: u64) -> CUresult {
    logs::because(format!("this machine has no memory left for {bytes} bytes"));
    logs::advise("free memory of this program or of others, or request less");
    OUT_OF_MEMORY
}
