//! The positions of the state spaces in the generic address space.
//!
//! Shared, local and parameter memory each have a window of 4 GiB far above device memory; an address in one of those
//! spaces is the 32-bit offset in its window, and sums wrap. Constant memory is in device memory, with the same 64-bit
//! address in both spaces, and sums of generic and global addresses have 64 bits too: `cvta` adds the start of a window to
//! the whole register, or subtracts it from that.

use cuda_ptx::Space;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a window.
pub(crate) const SIZE: u64 = 1 << 32;
/// The window of shared memory.
pub(crate) const SHARED: u64 = 0x7000_0000_0000;
/// The window of local memory.
pub(crate) const LOCAL: u64 = 0x7100_0000_0000;
/// The window of a kernel's parameters.
pub(crate) const PARAM: u64 = 0x7200_0000_0000;
/// The addresses of functions.
pub(crate) const FUNCTION: u64 = 0x7300_0000_0000;
/// Distance of two functions' addresses.
pub(crate) const FUNCTION_STEP: u64 = 16;

/// The first shared address in use: current hardware reserves the addresses below, and null pointers are detected.
pub(crate) const SHARED_START: u32 = 1024;
/// Where the scratch memory of cooperative groups lies in what hardware reserves (`%reserved_smem_offset_1`): it is
/// there in kernels that ask for it.
pub(crate) const RESERVED_SCRATCH: u32 = 512;
/// First local address in use, so that null pointers are caught.
pub(crate) const LOCAL_START: u32 = 256;

/// A shared address with this shift carries one more than the rank of a block of the cluster; zero means the
/// accessing thread's own block.
pub(crate) const RANK_SHIFT: u32 = 24;

/// Start of the window of `space`; 0 for the spaces that lie in device memory.
pub(crate) fn base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Param => PARAM,
        _ => 0,
    }
}

/// Whether a generic address lies between the first window and the last: below is device memory, below and above the host's.
#[inline(always)]
pub(crate) fn inside_any(address: u64) -> bool {
    (SHARED..FUNCTION + SIZE).contains(&address)
}

/// Whether a generic address lies in the window that starts at `window`.
#[inline(always)]
pub(crate) fn inside(window: u64, address: u64) -> bool {
    address & !(SIZE - 1) == window
}

/// Addresses for so many functions of one program: where the first one is. Another program's functions lie elsewhere, so that an address
/// of one is never taken for the other's, before the window has been given out once.
pub(crate) fn place_functions(count: usize) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let bytes = (count as u64).saturating_mul(FUNCTION_STEP).min(SIZE / 2);
    FUNCTION + FUNCTION_STEP + NEXT.fetch_add(bytes, Ordering::Relaxed) % (SIZE - FUNCTION_STEP - bytes)
}

/// The address of the function with that index in the program whose first one is at `first`.
pub(crate) fn function_address(first: u64, index: usize) -> u64 {
    first + index as u64 * FUNCTION_STEP
}

/// The index of the function at that address, in the program whose first one is at `first`; none of its functions may have that.
pub(crate) fn function_at(first: u64, address: u64) -> Option<usize> {
    let offset = address.checked_sub(first)?;
    (offset % FUNCTION_STEP == 0).then_some(())?;
    usize::try_from(offset / FUNCTION_STEP).ok()
}
