//! ^C while a kernel runs on the emulator: the kernel ends, and the command shows the results so far.

pub(super) use inner::{came, catch};

#[cfg(unix)]
mod inner {
    #![allow(unsafe_code)] // Calls of POSIX; the handler stores to atomics and nothing else.

    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicBool, Ordering};

    static CAME: AtomicBool = AtomicBool::new(false);

    /// From now on SIGINT and SIGTERM end the kernel instead of this process; the second one ends the process. Signals that the process was
    /// told to ignore remain ignored.
    pub(in crate::run) fn catch() {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: both structures are plain data for which zeros are valid (an empty mask), and outlive the calls; the handler has the
            // signature without SA_SIGINFO, and is async-signal-safe: it only stores to atomics.
            unsafe {
                let mut old: libc::sigaction = MaybeUninit::zeroed().assume_init();
                let mut new: libc::sigaction = MaybeUninit::zeroed().assume_init();
                new.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
                new.sa_sigaction = handler as *const () as libc::sighandler_t;
                if libc::sigaction(signal, null_mut(), &mut old) == 0 && old.sa_sigaction != libc::SIG_IGN {
                    libc::sigaction(signal, &new, null_mut());
                }
            }
        }
    }

    extern "C" fn handler(_: libc::c_int) {
        CAME.store(true, Ordering::Relaxed);
        cuda_emulator::interrupt();
    }

    /// Whether a signal has arrived.
    pub(in crate::run) fn came() -> bool {
        CAME.load(Ordering::Relaxed)
    }
}

#[cfg(not(unix))]
mod inner {
    pub(in crate::run) fn catch() {}

    pub(in crate::run) fn came() -> bool {
        false
    }
}
