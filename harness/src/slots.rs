//! Which layer a slot belongs to.

use crate::error::Error;
use crate::intercept::Layer;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How many layers can be alive at a time.
pub(crate) const SLOTS: usize = 16;

static LAYERS: [RwLock<Option<Arc<dyn Layer>>>; SLOTS] = [const { RwLock::new(None) }; SLOTS];
static TAKEN: Mutex<[bool; SLOTS]> = Mutex::new([false; SLOTS]);
static FREED: Condvar = Condvar::new();

/// A slot that is taken; dropped with the last driver of the layer.
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

    /// Calls of the slot's shims go to this layer.
    pub(crate) fn give(&self, layer: Arc<dyn Layer>) {
        if let Some(place) = LAYERS.get(self.0) {
            *place.write().unwrap_or_else(PoisonError::into_inner) = Some(layer);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let layer =
            LAYERS.get(self.0).and_then(|place| place.write().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(place) = taken().get_mut(self.0) {
            *place = false;
        }
        FREED.notify_one();
        // Last: it may be the last user of another layer's driver, whose lease goes with it.
        drop(layer);
    }
}

fn taken() -> MutexGuard<'static, [bool; SLOTS]> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The layer of a slot; none where a pointer of its table was kept longer than the table.
pub(crate) fn layer(slot: usize) -> Option<Arc<dyn Layer>> {
    LAYERS.get(slot)?.read().unwrap_or_else(PoisonError::into_inner).clone()
}
