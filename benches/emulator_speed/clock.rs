//! The time that this thread, or the process, has had a processor, which is the same on a busy machine as on a quiet one, or nearly; where the
//! system does not tell, the time that has passed.

#![cfg_attr(all(target_os = "linux", target_pointer_width = "64"), allow(unsafe_code))] // One function of C.

use std::time::Duration;

/// The time of this thread since some moment.
pub(crate) fn of_thread() -> Duration {
    read(3) // CLOCK_THREAD_CPUTIME_ID
}

/// The time of all threads of the process since some moment.
pub(crate) fn of_process() -> Duration {
    read(2) // CLOCK_PROCESS_CPUTIME_ID
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn read(clock: i32) -> Duration {
    /// `struct timespec`
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        /// POSIX; the C library, which the standard library links.
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the address is that of a `timespec` as 64-bit Linux has it, two numbers of 64 bits, which the function
    // writes and does not keep.
    let failed = unsafe { clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "the system has no such clock");
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn read(_: i32) -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}
