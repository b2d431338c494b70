//! What `completion` imports: the standard library's synchronisation types, and the function that drops foreign values. Its loom test
//! replaces them with loom's.

pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use crate::driver::drops::drop_quietly;
