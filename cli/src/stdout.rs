//! Whether this process was started with a standard output. The standard library opens `/dev/null` if there is none, and then lost
//! output cannot be detected.

#![allow(unsafe_code)] // Names the section that the loader looks at, and asks the system for a file's flags.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called before the standard library begins.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section is an array of function pointers, which this is an element of; the loader calls each once, before `main`.
// The arguments that it passes are in registers, which a function without parameters ignores.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    // SAFETY: queries the flags of a descriptor, which may be invalid, and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether there is none; false if unknown.
pub(crate) fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}
