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

/// The ordering of the queues of a context.
#[derive(Default)]
pub(super) struct Order {
    /// The lock is held while work is given to any of them: it makes the order of submission, by which the legacy stream
    /// and the others wait for each other, one for the whole context.
    ends: Mutex<Ends>,
    /// What all work that is given from now on comes after.
    gates: Mutex<Vec<Arc<Completion>>>,
    /// Held while a point of the order is made and an event set to it: of two threads that record one event, the one whose point is
    /// later sets it later.
    records: Mutex<()>,
}

/// The ends of the queues that may have unfinished work: what a piece of work waits for does not depend on how many streams are idle.
#[derive(Default)]
struct Ends {
    busy: Vec<Arc<End>>,
    /// That of the legacy stream, once there is one.
    legacy: Option<Arc<End>>,
}

/// The end of a queue: the work given last.
struct End {
    kind: Kind,
    /// Changed only while the ends of the order are locked.
    last: Mutex<Last>,
}

struct Last {
    work: Arc<Completion>,
    /// Whether it is among those that may have unfinished work.
    is_listed: bool,
}

/// The work of a stream.
pub(super) struct Queue {
    /// The stream's number.
    pub(super) id: u64,
    pub(super) kind: Kind,
    /// Whose it is.
    slot: usize,
    order: Arc<Order>,
    end: Arc<End>,
    /// Whether no other queue of its order waits for it.
    is_beside: bool,
    tasks: Mutex<Tasks>,
    ready: Condvar,
    /// A piece of work was taken out.
    room: Condvar,
}

impl End {
    /// The work given last.
    fn last(&self) -> Arc<Completion> {
        Arc::clone(&lock(&self.last).work)
    }

    /// Whether it has unfinished work. If not, it is listed no longer.
    fn keeps_listed(&self) -> bool {
        let mut last = lock(&self.last);
        last.is_listed = !last.work.is_done();
        last.is_listed
    }
}

impl Ends {
    /// Those that have unfinished work.
    fn unfinished(&mut self) -> &[Arc<End>] {
        self.busy.retain(|end| end.keeps_listed());
        &self.busy
    }

    /// The unfinished work that was given last to each queue.
    fn last(&mut self) -> Vec<Arc<Completion>> {
        self.unfinished().iter().map(|end| end.last()).collect()
    }

    /// `work` is given to a queue.
    fn give(&mut self, end: &Arc<End>, work: Arc<Completion>) {
        let mut last = lock(&end.last);
        last.work = work;
        if std::mem::replace(&mut last.is_listed, true) {
            return;
        }
        drop(last);
        // Before the list grows, and then to have room for as many again: each end is looked at a few times, however many there are.
        if self.busy.len() == self.busy.capacity() {
            let unfinished = self.unfinished().len();
            self.busy.reserve(unfinished + 1);
        }
        self.busy.push(Arc::clone(end));
    }
}

impl Order {
    /// A new queue.
    pub(super) fn add(self: &Arc<Self>, kind: Kind) -> Arc<Queue> {
        let queue = Queue::new(self, kind, false);
        if kind == Kind::Legacy {
            lock(&self.ends).legacy = Some(Arc::clone(&queue.end));
        }
        queue
    }

    /// A queue that no other one waits for.
    pub(super) fn beside(self: &Arc<Self>) -> Arc<Queue> {
        Queue::new(self, Kind::NonBlocking, true)
    }

    /// The unfinished work that was given last to each queue.
    pub(super) fn last(&self) -> Vec<Arc<Completion>> {
        lock(&self.ends).last()
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
}

/// Has all that is given to any of these orders from now on wait for a point, and tells what was given to them before.
pub(super) fn hold(orders: &[Arc<Order>], gate: &Arc<Completion>) -> Vec<Arc<Completion>> {
    // All are locked at once: else work that one was given before could come after work that another was given since. Nobody else has
    // more than one locked.
    let mut locked: Vec<_> = orders.iter().map(|order| lock(&order.ends)).collect();
    orders.iter().for_each(|order| order.wait_for(Some(Arc::clone(gate))));
    locked.iter_mut().flat_map(|ends| ends.last()).collect()
}

impl Queue {
    fn new(order: &Arc<Order>, kind: Kind, is_beside: bool) -> Arc<Queue> {
        let last = Last { work: Completion::past(), is_listed: false };
        Arc::new(Queue {
            id: state::get().map_or(0, |state| state.id()),
            kind,
            slot: slot::current(),
            order: Arc::clone(order),
            end: Arc::new(End { kind, last: Mutex::new(last) }),
            is_beside,
            tasks: Mutex::default(),
            ready: Condvar::new(),
            room: Condvar::new(),
        })
    }

    /// The work given last.
    fn last(&self) -> Arc<Completion> {
        self.end.last()
    }

    /// The work given last is this.
    fn set_last(&self, ends: &mut Ends, work: Arc<Completion>) {
        if self.is_beside {
            lock(&self.end.last).work = work;
        } else {
            ends.give(&self.end, work);
        }
    }

    /// What has to be done before the stream counts as empty: NULL includes the blocking streams.
    fn pending(&self) -> Vec<Arc<Completion>> {
        self.turn(&mut lock(&self.order.ends))
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
    fn before(&self, ends: &mut Ends) -> Vec<Arc<Completion>> {
        let mut before = self.turn(ends);
        before.extend(lock(&self.order.gates).iter().filter(|gate| !gate.is_done()).cloned());
        before
    }

    /// What it has to wait for of its own context. `ends` are those of the context.
    fn turn(&self, ends: &mut Ends) -> Vec<Arc<Completion>> {
        let mut before = vec![self.last()];
        match self.kind {
            Kind::Legacy => {
                let blocking = |end: &&Arc<End>| matches!(end.kind, Kind::PerThread | Kind::Blocking);
                before.extend(ends.unfinished().iter().filter(blocking).map(|end| end.last()));
            }
            Kind::PerThread | Kind::Blocking => before.extend(ends.legacy.as_ref().map(|end| end.last())),
            Kind::NonBlocking => {}
        }
        before.retain(|completion| !completion.is_done());
        before
    }
}
