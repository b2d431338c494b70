//! A moment in which no work runs.

use std::sync::{Arc, Mutex, MutexGuard};

use super::{CONTEXTS, Context};
use crate::driver::queue::{self, Completion};
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::lock;

/// What work of new contexts waits for, while there is such a moment or one is about to come.
static GATE: PerSlot<Mutex<Option<Arc<Completion>>>> = per_slot!(Mutex::new(None));

/// Opens a gate when dropped, so that a panic stops nobody.
struct Held(Arc<Completion>);

impl Drop for Held {
    fn drop(&mut self) {
        *lock(&GATE) = None;
        self.0.complete();
    }
}

/// Makes a change while no work of any context runs: after all that was given before, and before all that is given from now on. One at a
/// time.
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

/// To be held while a new context becomes known: its work waits for the present gate.
pub(super) fn join(context: &Context) -> MutexGuard<'static, Option<Arc<Completion>>> {
    let gate = lock(&GATE);
    context.order.wait_for(gate.clone());
    gate
}
