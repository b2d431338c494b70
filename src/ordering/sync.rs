//! The synchronisation types of the ordering core: those of the standard library. Its loom test replaces them with
//! loom's.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets other threads run.
pub(super) fn pause() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}
