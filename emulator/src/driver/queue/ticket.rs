//! What a piece of work comes behind, by what the program has asked for, whether or not it is done: for the check for races between
//! launches.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Completion, Queue};
use crate::check::Checker;
use crate::check::launches::VectorClock;
use crate::driver::current_work::{self, CurrentWork};

/// The place of a piece of work that was submitted.
pub(super) struct Ticket {
    checker: Arc<Checker>,
    lane: u64,
    /// What the host knew then.
    host: VectorClock,
    before: Dependencies,
    /// The piece of work that was submitted right before.
    last: Arc<Completion>,
    /// What is over when it is done, once it has begun.
    over: Option<Completed>,
}

/// What is over when a piece of work is done.
#[derive(Clone, Default)]
pub(super) struct Completed {
    pub(super) past: VectorClock,
    /// The number of the kernel that it is.
    pub(super) kernel: Option<u64>,
}

/// Work that other work comes behind.
#[derive(Clone, Default)]
pub(in crate::driver) struct Dependencies {
    past: VectorClock,
    completions: Vec<Arc<Completion>>,
}

impl From<Vec<Arc<Completion>>> for Dependencies {
    fn from(completions: Vec<Arc<Completion>>) -> Dependencies {
        Dependencies { past: VectorClock::default(), completions }
    }
}

/// The last work of several queues.
#[derive(Default)]
pub(super) struct LastOfQueues {
    past: VectorClock,
    /// By number of the queue.
    last: BTreeMap<u64, Arc<Completion>>,
    /// How many there may be before those that are done are summed up.
    most: usize,
}

/// While it lives, this thread's work is at the place of a ticket.
pub(super) struct Here<'t> {
    ticket: &'t mut Ticket,
    previous: Option<CurrentWork>,
}

impl Dependencies {
    /// Adds what a completion stands for.
    pub(super) fn add(&mut self, completion: Arc<Completion>) {
        if !completion.is_done() || completion.is_elsewhere() {
            self.completions.push(completion);
        } else if let Some(past) = completion.past() {
            self.past.join(past);
        }
    }

    /// The same of all of them.
    pub(super) fn extend(&mut self, other: Dependencies) {
        self.past.join(&other.past);
        other.completions.into_iter().for_each(|completion| self.add(completion));
    }

    /// Forgets what is of no use.
    pub(super) fn shorten(&mut self, checker: &Checker) {
        checker.launches().into_iter().for_each(|launches| launches.shorten(&mut self.past));
    }

    /// What is over when all of it is done, as it is now.
    fn sum(&self, checker: &Checker) -> VectorClock {
        let mut past = self.past.clone();
        for completion in &self.completions {
            match completion.past() {
                Some(other) => past.join(other),
                // Another process knows all that this one's host does.
                None if completion.is_elsewhere() => {
                    checker.launches().into_iter().for_each(|launches| past.join(&launches.known()));
                }
                None => {}
            }
        }
        past
    }

    /// The host knows that all of it is done.
    pub(super) fn learn(&self) {
        let is_nothing = self.completions.is_empty() && self.past == VectorClock::default();
        if let Some(checker) = current_work::checker().filter(|_| !is_nothing) {
            let past = self.sum(&checker);
            checker.launches().into_iter().for_each(|launches| launches.learn(&past));
        }
    }
}

impl LastOfQueues {
    /// The last work of that queue.
    pub(super) fn set(&mut self, queue: u64, work: &Arc<Completion>) {
        self.last.insert(queue, Arc::clone(work));
        if self.last.len() > self.most {
            let past = &mut self.past;
            self.last.retain(|_, work| {
                let is_done = work.is_done();
                work.past().into_iter().filter(|_| is_done).for_each(|other| past.join(other));
                !is_done
            });
            if let Some(launches) = current_work::checker().as_ref().and_then(|checker| checker.launches()) {
                launches.shorten(&mut self.past);
            }
            self.most = 64.max(2 * self.last.len());
        }
    }

    /// All of it.
    pub(super) fn all(&self) -> Dependencies {
        Dependencies { past: self.past.clone(), completions: self.last.values().cloned().collect() }
    }

    /// All of it, which is then forgotten.
    pub(super) fn take(&mut self) -> Dependencies {
        let all = self.all();
        (self.past, self.last) = Default::default();
        all
    }
}

impl Ticket {
    /// For work that is submitted now to a queue.
    pub(super) fn new(checker: &Arc<Checker>, queue: &Queue, before: Dependencies) -> Ticket {
        let host = checker.launches().map(|launches| launches.submit()).unwrap_or_default();
        Ticket {
            checker: Arc::clone(checker),
            lane: queue.lane,
            host,
            before,
            last: queue.last(),
            over: None,
        }
    }

    /// What it comes behind; all that must be done.
    fn start(&self) -> VectorClock {
        let mut past = self.before.sum(&self.checker);
        past.join(&self.host);
        if let Some(launches) = self.checker.launches() {
            launches.shorten(&mut past);
        }
        past
    }

    /// The work begins.
    pub(super) fn enter(&mut self) -> Here<'_> {
        let (checker, past, lane) = (Arc::clone(&self.checker), self.start(), self.lane);
        let (graph, is_by_kernel, follows, kernel) = (None, false, self.last.kernel(), None);
        let place = CurrentWork { checker, past, lane, graph, is_by_kernel, follows, kernel };
        let previous = current_work::exchange(Some(place));
        Here { ticket: self, previous }
    }

    /// What is over when the work is done.
    pub(super) fn end(mut self) -> Completed {
        self.over.take().unwrap_or_else(|| Completed { past: self.start(), kernel: None })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(launches) = self.checker.launches() {
            launches.over(&self.host);
        }
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let place = current_work::exchange(self.previous.take());
        self.ticket.over = place.map(|CurrentWork { past, kernel, .. }| Completed { past, kernel });
    }
}
