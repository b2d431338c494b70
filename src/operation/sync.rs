//! What `completion` takes from elsewhere: what it synchronises with, from the standard library, and the end of foreign values. Its loom
//! test puts loom's in their place.

pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use crate::driver::drops::drop_quietly;
