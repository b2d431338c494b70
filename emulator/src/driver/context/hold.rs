//! Pauses in which no work runs.

use std::sync::{Arc, Mutex, MutexGuard};

use super::{CONTEXTS, Context};
use crate::driver::queue::{self, Completion};
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::lock;

/// The completion that work of new contexts waits for, during a pause or when one is about to begin.
static GATE: PerSlot<Mutex<Option<Arc<Completion>>>> = per_slot!(Mutex::new(None));

/// Opens a gate when dropped, so that a panic does not block others forever.
struct Held(Arc<Completion>);

impl Drop for Held {
    fn drop(&mut self) {
        *lock(&GATE) = None;
        self.0.complete();
    }
}

/// Makes a change while no work of any context runs: after all work submitted before, and before all work submitted from now on. One
/// change at a time.
pub(in crate::driver) fn while_idle<T>(change: impl FnOnce() -> T) -> T {
    let held = Held(Arc::default());
    let before = {
        let mut gate = lock(&GATE);
        *gate = Some(Arc::clone(&held.0));
        let orders: Vec<_> = CONTEXTS.all().iter().map(|context| Arc::clone(&context.order)).collect();
        queue::hold(&orders, &held.0)
    };
    before.iter().for_each(|completion| completion.wait_at_work());
    change()
}

/// To be held while a new context is registered, so that its work waits for the present gate.
pub(super) fn join(context: &Context) -> MutexGuard<'static, Option<Arc<Completion>>> {
    let gate = lock(&GATE);
    context.order.wait_for(gate.clone());
    gate
}
