//! Which spy a slot belongs to.

use crate::error::Error;
use crate::intercept::Inner;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How many spies can be alive at a time.
pub(crate) const SLOTS: usize = 16;

static SPIES: [RwLock<Option<Arc<Inner>>>; SLOTS] = [const { RwLock::new(None) }; SLOTS];
static TAKEN: Mutex<[bool; SLOTS]> = Mutex::new([false; SLOTS]);
static FREED: Condvar = Condvar::new();

/// A slot that is taken; dropped with the last driver of the spy.
pub(crate) struct Lease(usize);

impl Lease {
    /// Takes a slot. Where none is free, waits that long for one.
    pub(crate) fn take(patience: Duration) -> Result<Lease, Error> {
        let start = Instant::now();
        let mut taken = taken();
        loop {
            if let Some((slot, place)) = taken.iter_mut().enumerate().find(|(_, taken)| !**taken) {
                *place = true;
                return Ok(Lease(slot));
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::NoSlot { slots: SLOTS, waited: patience });
            }
            (taken, _) = FREED.wait_timeout(taken, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Its number.
    pub(crate) fn slot(&self) -> usize {
        self.0
    }

    /// Calls of the slot's shims go to this spy.
    pub(crate) fn give(&self, spy: Arc<Inner>) {
        if let Some(place) = SPIES.get(self.0) {
            *place.write().unwrap_or_else(PoisonError::into_inner) = Some(spy);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let spy =
            SPIES.get(self.0).and_then(|place| place.write().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(place) = taken().get_mut(self.0) {
            *place = false;
        }
        FREED.notify_one();
        // Last: it may be the last user of another spy's driver, whose lease goes with it.
        drop(spy);
    }
}

fn taken() -> MutexGuard<'static, [bool; SLOTS]> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The spy of a slot; none where a pointer of its table was kept longer than the table.
pub(crate) fn spy(slot: usize) -> Option<Arc<Inner>> {
    SPIES.get(slot)?.read().unwrap_or_else(PoisonError::into_inner).clone()
}
