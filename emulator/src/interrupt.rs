//! Kernels that are ended from outside, as by ^C.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Ends the kernels that run on the emulators of this process, and those that begin from now on: as they stand, and without a fault. For
/// tools that still have something to say when ^C ends them. It only stores a number: signal handlers may call it.
pub fn interrupt() {
    ASKED.store(true, Relaxed);
}

/// Whether kernels are to end.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Relaxed)
}
