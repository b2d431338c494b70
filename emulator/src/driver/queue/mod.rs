//! Queues of work, each in order, with a thread of its own while it has something to do: what streams are made of. Threads of the program
//! that wait for work do it themselves where they can.
//!
//! Every piece of work names the [`Completion`]s that it comes after; they always belong to work that was given to the
//! driver earlier, so that no circle of waiting can form. Three rules make the names:
//! - the work before it in its own queue;
//! - the legacy stream and every blocking stream of a context wait for each other (a per-thread stream is a blocking one);
//! - what `cuStreamWaitEvent` asked for.

mod completion;
mod task;
pub(super) mod workers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::slot;
use super::state::{self, lock};
pub(super) use completion::{Completion, Elsewhere, Pause};
pub(super) use task::Job;
use task::Tasks;

/// How a stream takes part in the ordering with the legacy stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The stream that NULL means.
    Legacy,
    /// A thread's own default stream.
    PerThread,
    /// Made without flags.
    Blocking,
    /// Made with `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
}

/// The queues of a context.
#[derive(Default)]
pub(super) struct Order {
    /// The lock is held while work is given to any of them: it makes the order of submission, by which the legacy stream
    /// and the others wait for each other, one for the whole context.
    queues: Mutex<Vec<Arc<Queue>>>,
    /// What all work that is given from now on comes after.
    gates: Mutex<Vec<Arc<Completion>>>,
    /// Held while a point of the order is made and an event set to it: of two threads that record one event, the one whose point is
    /// later sets it later.
    records: Mutex<()>,
}

/// The work of a stream.
pub(super) struct Queue {
    /// The stream's number.
    pub(super) id: u64,
    pub(super) kind: Kind,
    /// Whose it is.
    slot: usize,
    order: Arc<Order>,
    /// The work given last. Changed only while the queues of the order are locked.
    last: Mutex<Arc<Completion>>,
    tasks: Mutex<Tasks>,
    ready: Condvar,
    /// A piece of work was taken out.
    room: Condvar,
    retired: AtomicBool,
}

impl Order {
    /// A new queue; forgets those that will get no more work and have none left.
    pub(super) fn add(self: &Arc<Self>, kind: Kind) -> Arc<Queue> {
        let queue = Queue::new(self, kind);
        let mut queues = lock(&self.queues);
        queues.retain(|queue| !queue.is_over());
        queues.push(Arc::clone(&queue));
        queue
    }

    /// A queue that no other one waits for, and which the order does not know.
    pub(super) fn beside(self: &Arc<Self>) -> Arc<Queue> {
        Queue::new(self, Kind::NonBlocking)
    }

    /// The work given last to each queue.
    pub(super) fn last(&self) -> Vec<Arc<Completion>> {
        lock(&self.queues).iter().map(|queue| queue.last()).collect()
    }

    /// Waits for all work given before.
    pub(super) fn synchronize(&self) {
        self.last().iter().for_each(|completion| completion.wait_at_work());
    }

    /// All work that is given from now on comes after that point, too.
    pub(super) fn wait_for(&self, point: Option<Arc<Completion>>) {
        let mut gates = lock(&self.gates);
        gates.retain(|gate| !gate.is_done());
        gates.extend(point.filter(|point| !point.is_done()));
    }

    /// To be held while a point of the order is made and an event set to it.
    pub(super) fn recording(&self) -> MutexGuard<'_, ()> {
        lock(&self.records)
    }

    /// The queues hold this: the cycle ends here.
    pub(super) fn end(&self) {
        lock(&self.queues).clear();
    }
}

/// Has all that is given to any of these orders from now on wait for a point, and tells what was given to them before.
pub(super) fn hold(orders: &[Arc<Order>], gate: &Arc<Completion>) -> Vec<Arc<Completion>> {
    // All are locked at once: else work that one was given before could come after work that another was given since. Nobody else has
    // more than one locked.
    let locked: Vec<_> = orders.iter().map(|order| lock(&order.queues)).collect();
    orders.iter().for_each(|order| order.wait_for(Some(Arc::clone(gate))));
    locked.iter().flat_map(|queues| queues.iter().map(|queue| queue.last())).collect()
}

impl Queue {
    fn new(order: &Arc<Order>, kind: Kind) -> Arc<Queue> {
        Arc::new(Queue {
            id: state::get().map_or(0, |state| state.id()),
            kind,
            slot: slot::current(),
            order: Arc::clone(order),
            last: Mutex::new(Completion::past()),
            tasks: Mutex::default(),
            ready: Condvar::new(),
            room: Condvar::new(),
            retired: AtomicBool::new(false),
        })
    }

    /// The work given last.
    fn last(&self) -> Arc<Completion> {
        Arc::clone(&lock(&self.last))
    }

    /// It will get no more work.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether it will get no more work and has none left.
    fn is_over(&self) -> bool {
        self.retired.load(Ordering::Acquire) && lock(&self.last).is_done()
    }

    /// What has to be done before the stream counts as empty: NULL includes the blocking streams.
    fn pending(&self) -> Vec<Arc<Completion>> {
        self.turn(&lock(&self.order.queues))
    }

    /// Whether all its work is done. If not, it is begun soon.
    pub(super) fn is_idle(&self) -> bool {
        if self.kind == Kind::Legacy {
            let pending = self.pending();
            pending.iter().for_each(|completion| completion.rouse());
            return pending.is_empty();
        }
        let last = self.last();
        let idle = last.is_done();
        if !idle {
            last.rouse();
        }
        idle
    }

    /// Waits until all its work is done.
    pub(super) fn synchronize(&self) {
        if self.kind == Kind::Legacy {
            self.pending().iter().for_each(|completion| completion.wait_at_work());
        } else {
            self.last().wait_at_work();
        }
    }

    /// What the next piece of work has to wait for, besides the events that it names.
    fn before(&self, queues: &[Arc<Queue>]) -> Vec<Arc<Completion>> {
        let mut before = self.turn(queues);
        before.extend(lock(&self.order.gates).iter().filter(|gate| !gate.is_done()).cloned());
        before
    }

    /// What it has to wait for of its own context. `queues` are those of the context.
    fn turn(&self, queues: &[Arc<Queue>]) -> Vec<Arc<Completion>> {
        let ordered = |other: &&Arc<Queue>| match self.kind {
            Kind::Legacy => other.kind != Kind::NonBlocking,
            Kind::PerThread | Kind::Blocking => other.kind == Kind::Legacy,
            Kind::NonBlocking => false,
        };
        let others = queues.iter().filter(ordered).map(|queue| queue.last());
        others.chain([self.last()]).filter(|completion| !completion.is_done()).collect()
    }
}
