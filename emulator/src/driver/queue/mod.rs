//! Queues of work, which streams consist of. Each is in order, and has its own thread while it has something to do. Threads of the
//! program that wait for work do it themselves if they can.
//!
//! Every piece of work has a list of [`Completion`]s that it depends on; they always belong to work that was submitted
//! earlier, so that no cycle of waits can form. Three rules determine the list:
//! - the work before it in its own queue;
//! - the legacy stream and every blocking stream of a context wait for each other (a per-thread stream is a blocking one);
//! - the events of `cuStreamWaitEvent`.

mod completion;
mod task;
mod ticket;
pub(super) mod workers;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::state::{self, lock};
use super::{current_work, slot};
use crate::check::Checker;
pub(super) use completion::{Completion, Elsewhere, Pause};
pub(super) use task::Job;
use task::Tasks;
pub(super) use ticket::Dependencies;
use ticket::{LastOfQueues, Ticket};

/// How a stream is ordered with the legacy stream.
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
    /// The lock is held while work is submitted to any of them: it gives the whole context a single order of submission,
    /// by which the legacy stream and the others wait for each other.
    ends: Mutex<Ends>,
    /// The completions that all later work depends on.
    gates: Mutex<Vec<Arc<Completion>>>,
    /// The same, if races between launches are checked: those that are done, too.
    gated: Mutex<Dependencies>,
    /// Held while a point of the order is created and an event is set to it: if two threads record one event, the later point is
    /// set later.
    records: Mutex<()>,
}

/// The ends of the queues that may have unfinished work: the cost of a submission does not depend on the number of idle streams.
#[derive(Default)]
struct Ends {
    busy: Vec<Arc<End>>,
    /// The end of the legacy stream, once there is one.
    legacy: Option<Arc<End>>,
    /// If races between launches are checked: the last work of all queues, and of the blocking ones since the legacy stream's last.
    all: LastOfQueues,
    blocking: LastOfQueues,
}

/// The end of a queue: the work submitted last.
struct End {
    kind: Kind,
    /// Changed only while the ends of the order are locked.
    last: Mutex<Last>,
}

struct Last {
    work: Arc<Completion>,
    /// Whether it is in the list of ends that may have unfinished work.
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
    /// The check for races between launches, if that is on, and the number of the queue there.
    checker: Option<Arc<Checker>>,
    lane: u64,
    tasks: Mutex<Tasks>,
    ready: Condvar,
    /// Signalled when a piece of work was removed.
    room: Condvar,
}

impl End {
    /// The work submitted last.
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
    /// The ends with unfinished work.
    fn unfinished(&mut self) -> &[Arc<End>] {
        self.busy.retain(|end| end.keeps_listed());
        &self.busy
    }

    /// The last unfinished work of each queue.
    fn last(&mut self) -> Vec<Arc<Completion>> {
        self.unfinished().iter().map(|end| end.last()).collect()
    }

    /// Records `work` as submitted to a queue.
    fn give(&mut self, end: &Arc<End>, work: Arc<Completion>) {
        let mut last = lock(&end.last);
        last.work = work;
        if std::mem::replace(&mut last.is_listed, true) {
            return;
        }
        drop(last);
        // Called before the list grows, and then room is reserved for as many again, so that each end is visited only a few times,
        // however many there are.
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

    /// The last unfinished work of each queue.
    pub(super) fn last(&self) -> Vec<Arc<Completion>> {
        lock(&self.ends).last()
    }

    /// All work submitted before, if races between launches are checked.
    pub(super) fn all(&self) -> Dependencies {
        lock(&self.ends).all.all()
    }

    /// Waits for all work submitted before.
    pub(super) fn synchronize(&self) {
        let (last, all) = {
            let mut ends = lock(&self.ends);
            (ends.last(), ends.all.all())
        };
        last.iter().for_each(|completion| completion.wait_at_work());
        all.learn();
    }

    /// Makes all later work depend on that point, too.
    pub(super) fn wait_for(&self, point: Option<Arc<Completion>>) {
        if let Some((point, checker)) = point.as_ref().zip(current_work::checker()) {
            let mut gated = lock(&self.gated);
            let before = std::mem::take(&mut *gated);
            gated.extend(before);
            gated.add(Arc::clone(point));
            gated.shorten(&checker);
        }
        let mut gates = lock(&self.gates);
        gates.retain(|gate| !gate.is_done());
        gates.extend(point.filter(|point| !point.is_done()));
    }

    /// To be held while a point of the order is created and an event is set to it.
    pub(super) fn recording(&self) -> MutexGuard<'_, ()> {
        lock(&self.records)
    }
}

/// Makes all later work of any of these orders wait for a point, and returns the work submitted to them before.
pub(super) fn hold(orders: &[Arc<Order>], gate: &Arc<Completion>) -> Vec<Arc<Completion>> {
    // All are locked at once: otherwise work submitted to one before could be ordered after work submitted to another since. No other
    // code holds more than one of these locks.
    let mut locked: Vec<_> = orders.iter().map(|order| lock(&order.ends)).collect();
    orders.iter().for_each(|order| order.wait_for(Some(Arc::clone(gate))));
    locked.iter_mut().flat_map(|ends| ends.last()).collect()
}

impl Queue {
    fn new(order: &Arc<Order>, kind: Kind, is_beside: bool) -> Arc<Queue> {
        let last = Last { work: Completion::over(), is_listed: false };
        let checker = current_work::checker();
        let lane =
            checker.as_ref().and_then(|checker| checker.launches()).map_or(0, |launches| launches.lane());
        Arc::new(Queue {
            id: state::get().map_or(0, |state| state.id()),
            kind,
            slot: slot::current(),
            order: Arc::clone(order),
            end: Arc::new(End { kind, last: Mutex::new(last) }),
            is_beside,
            checker,
            lane,
            tasks: Mutex::default(),
            ready: Condvar::new(),
            room: Condvar::new(),
        })
    }

    /// Whether races between launches are checked.
    pub(super) fn is_checked(&self) -> bool {
        self.checker.is_some()
    }

    /// The work submitted last.
    fn last(&self) -> Arc<Completion> {
        self.end.last()
    }

    /// Sets the work submitted last.
    fn set_last(&self, ends: &mut Ends, work: Arc<Completion>) {
        if self.checker.is_some() && !self.is_beside {
            ends.all.set(self.id, &work);
            if matches!(self.kind, Kind::PerThread | Kind::Blocking) {
                ends.blocking.set(self.id, &work);
            }
        }
        if self.is_beside {
            lock(&self.end.last).work = work;
        } else {
            ends.give(&self.end, work);
        }
    }

    /// The place of the next piece of work, which comes behind `more`, too.
    #[cold]
    fn ticket(&self, checker: &Arc<Checker>, ends: &mut Ends, more: Dependencies) -> Box<Ticket> {
        let mut before = self.turn_asked(ends);
        if self.kind == Kind::Legacy {
            ends.blocking.take();
        }
        before.extend(lock(&self.order.gated).clone());
        before.extend(more);
        Box::new(Ticket::new(checker, self, before))
    }

    /// What the next piece of work comes behind in its own context, whether or not that is done.
    fn turn_asked(&self, ends: &Ends) -> Dependencies {
        let mut before = match self.kind {
            Kind::Legacy => ends.blocking.all(),
            Kind::PerThread | Kind::Blocking | Kind::NonBlocking => Dependencies::default(),
        };
        before.add(self.last());
        if let (Kind::PerThread | Kind::Blocking, Some(legacy)) = (self.kind, &ends.legacy) {
            before.add(legacy.last());
        }
        before
    }

    /// What counts as its work, for the check for races between launches: that of the blocking streams too, for the legacy stream.
    #[cold]
    fn asked(&self) -> Dependencies {
        match self.kind {
            Kind::Legacy => self.turn_asked(&lock(&self.order.ends)),
            Kind::PerThread | Kind::Blocking | Kind::NonBlocking => Dependencies::from(vec![self.last()]),
        }
    }

    /// The host knows that all its work is done.
    pub(super) fn learn(&self) {
        if self.is_checked() {
            self.asked().learn();
        }
    }

    /// The work that must be done before the stream counts as empty; for NULL this includes the blocking streams.
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
        if self.is_checked() {
            let asked = self.asked();
            self.wait();
            asked.learn();
        } else {
            self.wait();
        }
    }

    fn wait(&self) {
        if self.kind == Kind::Legacy {
            self.pending().iter().for_each(|completion| completion.wait_at_work());
        } else {
            self.last().wait_at_work();
        }
    }

    /// The dependencies of the next piece of work, besides its events.
    fn before(&self, ends: &mut Ends) -> Vec<Arc<Completion>> {
        let mut before = self.turn(ends);
        before.extend(lock(&self.order.gates).iter().filter(|gate| !gate.is_done()).cloned());
        before
    }

    /// The dependencies in its own context. `ends` are those of the context.
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
