//! What the ordering core synchronises with: the standard library's. Its loom test puts loom's in their place.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
