//! The moment at which a piece of work is done.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Happens once; anyone can wait for it.
#[derive(Default)]
pub(in crate::driver) struct Completion {
    at: OnceLock<Instant>,
    lock: Mutex<()>,
    reached: Condvar,
}

impl Completion {
    /// One that lies in the past: nothing was ever asked for.
    pub(super) fn past() -> Arc<Completion> {
        let completion = Completion::default();
        completion.complete();
        Arc::new(completion)
    }

    /// The work is done.
    pub(in crate::driver) fn complete(&self) {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.at.get_or_init(Instant::now);
        self.reached.notify_all();
    }

    /// Whether it is done.
    pub(in crate::driver) fn is_done(&self) -> bool {
        self.at.get().is_some()
    }

    /// When it was done.
    pub(in crate::driver) fn at(&self) -> Option<Instant> {
        self.at.get().copied()
    }

    /// Waits until it is done.
    pub(in crate::driver) fn wait(&self) {
        if self.is_done() {
            return;
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_done() {
            guard = self.reached.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
