//! What `table` and `capture/context_waits` synchronise with: the standard library's. Their loom test puts loom's in their place.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
