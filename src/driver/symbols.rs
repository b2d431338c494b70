//! Which variables of a module have a handle: one at a time, so that a mutable view of one is the only one.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

/// The variables that have a handle.
#[derive(Debug, Default)]
pub(super) struct Symbols(Mutex<BTreeSet<Box<str>>>);

impl Symbols {
    /// Gives out the variable; false if it is given out.
    pub(super) fn take(&self, name: &str) -> bool {
        self.taken().insert(name.into())
    }

    /// Takes the variable back.
    pub(super) fn give_back(&self, name: &str) {
        self.taken().remove(name);
    }

    fn taken(&self) -> MutexGuard<'_, BTreeSet<Box<str>>> {
        // Nothing below the lock panics; a poisoned lock would still hold a whole set.
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
