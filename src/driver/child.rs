//! For tests: what is done in the child of a fork.

#![allow(unsafe_code)] // Functions of POSIX.
#![allow(clippy::unwrap_used)]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::choice::initialise;
use crate::driver::CudaContext;

/// Whether `act` ends in a child of this process, to which this thread leaves the locks that it holds.
pub(in crate::driver) fn ends_in_a_child(act: impl FnOnce()) -> bool {
    const NOHANG: c_int = 1;
    const KILL: c_int = 9;
    // SAFETY: POSIX has these functions, with these types. The child of a process with several threads does no more than
    // `act`, and ends without running what the process does at its end; `waitpid` is given a place for the status.
    unsafe extern "C" {
        safe fn fork() -> c_int;
        safe fn _exit(code: c_int) -> !;
        safe fn kill(process: c_int, signal: c_int) -> c_int;
        fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    }
    let child = fork();
    if child == 0 {
        // A panic must not unwind into what the parent's thread would do next.
        let ended = catch_unwind(AssertUnwindSafe(act));
        _exit(c_int::from(ended.is_err()));
    }
    let (begin, mut status) = (Instant::now(), -1);
    // SAFETY: `status` is a local, which outlives the call.
    while unsafe { waitpid(child, &mut status, NOHANG) } == 0 {
        if begin.elapsed() > Duration::from_secs(20) {
            kill(child, KILL);
        }
        std::thread::yield_now();
    }
    status == 0
}

/// A driver is in use from now on.
pub(in crate::driver) fn in_use() {
    initialise(CudaContext::new(0).unwrap().driver()).unwrap();
}
