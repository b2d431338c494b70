//! What `completion` synchronises with: the standard library's. Its loom test puts loom's in their place.

pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
