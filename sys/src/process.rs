//! The number of this process, without a system call each time.
//!
//! For the crates of this family.

use std::sync::atomic::{AtomicU32, Ordering};

/// What the system answered; 0 before that, and in a child.
static ID: AtomicU32 = AtomicU32::new(0);

/// The number of this process, queried once, and once in each child process.
#[inline]
pub fn id() -> u32 {
    match ID.load(Ordering::Relaxed) {
        0 => ask(&ID, std::process::id, forgotten_after_fork),
        id => id,
    }
}

#[cold]
fn ask(kept: &AtomicU32, system: fn() -> u32, forgotten: fn() -> bool) -> u32 {
    let forgotten = forgotten();
    // Only after that: a fork in between takes away what is not there yet, and then the child asks for itself.
    let id = system();
    if forgotten {
        kept.store(id, Ordering::Relaxed);
    }
    id
}

/// Whether a child forgets the number of its parent.
#[cfg(unix)]
#[allow(unsafe_code)] // One function of POSIX, and one that it calls.
fn forgotten_after_fork() -> bool {
    use std::ffi::c_int;
    use std::sync::OnceLock;

    type Handler = Option<unsafe extern "C" fn()>;

    // SAFETY: POSIX has this function, with these types, and takes null for a handler. It may be called at any time.
    // The one handler that it is given only stores to an atomic, and so may run in a child right after the fork; it is
    // a function of the program, or of a library of which glibc forgets the handlers when it is closed (by its
    // `__dso_handle`).
    unsafe extern "C" {
        safe fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    /// Runs in a child, where it may do little: it stores a number.
    unsafe extern "C" fn forget() {
        ID.store(0, Ordering::Relaxed);
    }

    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| pthread_atfork(None, None, Some(forget)) == 0)
}

/// There is no fork.
#[cfg(not(unix))]
fn forgotten_after_fork() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn the_system_is_asked_once_unless_nobody_tells_of_forks() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let system = || {
            ASKED.fetch_add(1, Ordering::Relaxed);
            7
        };
        let kept = AtomicU32::new(0);
        assert_eq!((ask(&kept, system, || false), kept.load(Ordering::Relaxed)), (7, 0));
        assert_eq!((ask(&kept, system, || true), kept.load(Ordering::Relaxed)), (7, 7));
        assert_eq!(ASKED.load(Ordering::Relaxed), 2);
        assert_eq!((id(), id()), (std::process::id(), std::process::id()));
        #[cfg(unix)]
        assert_ne!(ID.load(Ordering::Relaxed), 0, "the second time it is known");
    }
}
