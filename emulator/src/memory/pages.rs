//! Host pages that contain nothing else: once they are released, nothing is mapped at their address until the process maps
//! something else there.
#![allow(unsafe_code)]
// Relies on: the functions below are declared as the C library has them on Linux of 64 bits.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};

// Functions of the C library, with their types on 64-bit Linux.
unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        len: usize,
        rights: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
}

/// `PROT_READ | PROT_WRITE`
const READ_WRITE: c_int = 1 | 2;
/// `MAP_PRIVATE | MAP_ANONYMOUS`
const OWN: c_int = 2 | 0x20;

/// `len` zeroed bytes; `None` if the host has no memory left.
pub(super) fn new(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: the system chooses a free place (no address, and no flag that forces one), so that no mapping in use is replaced; of no file.
    let start = unsafe { mmap(null_mut(), len, READ_WRITE, OWN, -1, 0) };
    // Failure is the address -1.
    NonNull::new(start.cast::<u8>()).filter(|start| start.addr().get() != usize::MAX)
}

/// # Safety
///
/// 1. They came from `new` with that length, are released for the first time, and are not used any more.
pub(super) unsafe fn give_back(start: NonNull<u8>, len: usize) {
    // SAFETY: it is a mapping of that length that is no longer used, by duty 1.
    unsafe { munmap(start.as_ptr().cast(), len) };
}
