//! Standard error, in a program that may close it, and get its number for a file of its own: nothing is written to such a file. What has
//! the number now is standard error if it was open at the start, under whatever number, or if it has another number too: then the
//! program has put it there (`dup2`), as test runners do that capture what is written.
//!
//! No signal of the writing ends the program.
//!
//! Relies on: the functions below are declared as the C library has them on Linux of 64 bits, where a set of signals has 128 bytes.
#![allow(unsafe_code)]

use std::io::{self, Write};
use std::sync::OnceLock;

/// Which file it is, wherever it is open.
type Identity = (u64, u64);

static BEFORE: OnceLock<Vec<Identity>> = OnceLock::new();

/// Called when the library is loaded, or at first use if that call does not happen.
pub fn remember() {
    BEFORE.get_or_init(all);
}

/// Writes a text in one call of the system; false if the program has another file in the place of standard error.
pub fn say(text: &str) -> bool {
    is_there() && without_a_signal(|| write(text.as_bytes())).is_ok()
}

fn is_there() -> bool {
    let before = BEFORE.get_or_init(all);
    match identity() {
        Some(now) => before.contains(&now) || is_put_there(),
        None => cfg!(any(not(unix), miri)),
    }
}

/// The files that are open.
fn all() -> Vec<Identity> {
    let others = numbers().into_iter().filter_map(|number| identity_of(&format!("/proc/self/fd/{number}")));
    identity().into_iter().chain(others).collect()
}

/// None under Miri, which shows a program no folder.
fn numbers() -> Vec<i32> {
    if cfg!(miri) {
        return Vec::new();
    }
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect()
}

/// Whether another number means the same open file: opened once, and not only the file of that name.
#[cfg(all(
    target_os = "linux",
    not(miri),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn is_put_there() -> bool {
    use std::ffi::c_long;
    // Of the C library.
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    const KCMP: c_long = if cfg!(target_arch = "x86_64") { 312 } else { 272 };
    const KCMP_FILE: c_long = 0;
    let own = c_long::from(std::process::id());
    let is_same = |number: i32| {
        // SAFETY: the call takes numbers, as wide as registers, compares what two numbers of files mean, and changes nothing.
        let answer = unsafe { syscall(KCMP, own, own, KCMP_FILE, 2 as c_long, c_long::from(number)) };
        answer == 0
    };
    numbers().into_iter().any(|number| number != 2 && is_same(number))
}

#[cfg(not(all(
    target_os = "linux",
    not(miri),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn is_put_there() -> bool {
    false
}

/// Bypasses the lock of the standard library's handle: in a forked process the thread that holds it may not exist.
#[cfg(all(unix, not(miri)))]
fn write(bytes: &[u8]) -> io::Result<()> {
    (&*file()).write_all(bytes)
}

#[cfg(not(all(unix, not(miri))))]
fn write(bytes: &[u8]) -> io::Result<()> {
    io::stderr().write_all(bytes)
}

#[cfg(all(unix, not(miri)))]
fn file() -> std::mem::ManuallyDrop<std::fs::File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the number is only used in calls that answer an error where nothing is open; it is not closed, as the `ManuallyDrop` never
    // drops.
    std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(2) })
}

#[cfg(all(unix, not(miri)))]
fn identity() -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    file().metadata().ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(all(unix, not(miri)))]
fn identity_of(path: &str) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(all(unix, not(miri))))]
fn identity() -> Option<Identity> {
    None
}

#[cfg(not(all(unix, not(miri))))]
fn identity_of(_: &str) -> Option<Identity> {
    None
}

/// Writes without the signals that would end the program if a pipe has no reader any more, or a file has reached its
/// size limit.
#[cfg(all(
    target_os = "linux",
    not(miri),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub fn without_a_signal<R>(write: impl FnOnce() -> R) -> R {
    use signals::*;
    use std::ptr::{null, null_mut};
    let (mut held, mut before, mut pending) = (Set::default(), Set::default(), Set::default());
    // SAFETY: the sets are as long as the C library's and outlive the calls, which write or read them and ask for nothing else.
    let is_held = unsafe {
        sigpending(&mut pending);
        for signal in [SIGPIPE, SIGXFSZ] {
            // One that waits already is the program's.
            if sigismember(&pending, signal) == 0 {
                sigaddset(&mut held, signal);
            }
        }
        pthread_sigmask(SIG_BLOCK, &held, &mut before) == 0
    };
    let result = write();
    if is_held {
        // SAFETY: as above; null is no place for what is known of the signal, and for the old set; the last set is what the thread
        // had, as the first `pthread_sigmask` has written it.
        unsafe {
            sigtimedwait(&held, null(), &[0, 0]);
            pthread_sigmask(SIG_SETMASK, &before, null_mut());
        }
    }
    result
}

#[cfg(not(all(
    target_os = "linux",
    not(miri),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub fn without_a_signal<R>(write: impl FnOnce() -> R) -> R {
    write()
}

/// Of the C library, with the types and numbers that it has on Linux of 64 bits.
#[cfg(all(
    target_os = "linux",
    not(miri),
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod signals {
    use std::ffi::{c_int, c_void};

    /// `sigset_t`: all zeros are the empty set.
    #[derive(Default)]
    #[repr(C)]
    pub(super) struct Set([u64; 16]);

    pub(super) const SIGPIPE: c_int = 13;
    pub(super) const SIGXFSZ: c_int = 25;
    pub(super) const SIG_BLOCK: c_int = 0;
    pub(super) const SIG_SETMASK: c_int = 2;

    unsafe extern "C" {
        pub(super) fn sigpending(set: *mut Set) -> c_int;
        pub(super) fn sigismember(set: *const Set, signal: c_int) -> c_int;
        pub(super) fn sigaddset(set: *mut Set, signal: c_int) -> c_int;
        pub(super) fn pthread_sigmask(how: c_int, set: *const Set, old: *mut Set) -> c_int;
        /// The last is a `timespec`: seconds and nanoseconds.
        pub(super) fn sigtimedwait(set: *const Set, info: *const c_void, time: *const [i64; 2]) -> c_int;
    }
}
