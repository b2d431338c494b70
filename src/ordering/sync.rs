//! What the ordering core synchronises with: the standard library's. Its loom test puts loom's in their place.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets other threads run.
pub(super) fn pause() {
    std::thread::sleep(std::time::Duration::from_micros(50));
}
