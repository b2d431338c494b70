//! A lock that is held during driver calls. In the middle of such a call, code of the program may run: a listener of the driver's
//! log, or a `tracing` subscriber. Its calls return an error if they would wait for themselves.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::host_call;
use crate::error::Error;

/// The lock.
#[derive(Debug, Default)]
pub(crate) struct OwnLock<T> {
    /// The thread that holds the lock; 0 for none.
    whose: AtomicUsize,
    value: Mutex<T>,
}

/// It is held.
#[derive(Debug)]
pub(crate) struct OwnGuard<'l, T> {
    whose: &'l AtomicUsize,
    value: MutexGuard<'l, T>,
}

impl<T> OwnLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { whose: AtomicUsize::new(0), value: Mutex::new(value) }
    }

    /// Waits for other threads; returns an error for `call` if this thread already holds the lock. The guarded value
    /// must be valid even after a panic.
    pub(crate) fn lock(&self, call: &'static str) -> Result<OwnGuard<'_, T>, Error> {
        let here = here();
        // Relaxed: only this thread writes its own number, and takes it away again.
        if self.whose.load(Ordering::Relaxed) == here {
            return Err(host_call::inside_of(call));
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        self.whose.store(here, Ordering::Relaxed);
        Ok(OwnGuard { whose: &self.whose, value })
    }
}

impl<T> Drop for OwnGuard<'_, T> {
    fn drop(&mut self) {
        self.whose.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for OwnGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for OwnGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// What tells this thread from all others that run; never 0.
fn here() -> usize {
    thread_local! { static HERE: u8 = const { 0 } }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
