//! The completion of a piece of work.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::Queue;
use super::ticket::Completed;
use crate::check::launches::VectorClock;
use crate::driver::current_work;
use crate::driver::state::{self, lock};

/// Work of another process, which can only be polled.
pub(in crate::driver) trait Elsewhere: Send + Sync {
    /// Whether it is over.
    fn is_over(&self) -> bool;
}

/// Rests between two questions: longer each time, up to a millisecond.
#[derive(Default)]
pub(in crate::driver) struct Pause {
    times: u32,
}

impl Pause {
    /// Rests.
    pub(in crate::driver) fn rest(&mut self) {
        match self.times {
            0..10 => thread::yield_now(),
            times => thread::sleep(Duration::from_micros((20 << (times - 10).min(6)).min(1000))),
        }
        self.times = self.times.saturating_add(1);
    }
}

/// Happens once; anyone can wait for it.
#[derive(Default)]
pub(in crate::driver) struct Completion {
    at: OnceLock<Instant>,
    /// Whether a thread sleeps until then.
    awaited: Mutex<bool>,
    reached: Condvar,
    /// The queue that has the work.
    queue: Weak<Queue>,
    /// Set if the work belongs to another process.
    elsewhere: Option<Box<dyn Elsewhere>>,
    /// What is over when it is done, if races between launches are checked.
    over: OnceLock<Box<Completed>>,
}

impl Completion {
    /// The completion of a piece of work of a queue.
    pub(super) fn of(queue: &Arc<Queue>) -> Arc<Completion> {
        Arc::new(Completion { queue: Arc::downgrade(queue), ..Completion::default() })
    }

    /// The completion of another process's work.
    pub(in crate::driver) fn of_other(work: impl Elsewhere + 'static) -> Arc<Completion> {
        Arc::new(Completion { elsewhere: Some(Box::new(work)), ..Completion::default() })
    }

    /// A completion that has happened.
    pub(super) fn over() -> Arc<Completion> {
        let completion = Completion::default();
        completion.complete();
        Arc::new(completion)
    }

    /// The work is done.
    pub(in crate::driver) fn complete(&self) {
        let awaited = lock(&self.awaited);
        self.at.get_or_init(Instant::now);
        if *awaited {
            self.reached.notify_all();
        }
    }

    /// When it is done, all of that is over.
    pub(in crate::driver) fn set_past(&self, past: VectorClock) {
        self.set_over(Completed { past, kernel: None });
    }

    /// The same, with the kernel that it is.
    pub(super) fn set_over(&self, over: Completed) {
        // Set once, before it is done.
        let _ = self.over.set(Box::new(over));
    }

    /// What is over when it is done, if that is known.
    pub(in crate::driver) fn past(&self) -> Option<&VectorClock> {
        self.over.get().map(|over| &over.past)
    }

    /// The number of the kernel that it is, if that is known.
    pub(super) fn kernel(&self) -> Option<u64> {
        self.over.get().and_then(|over| over.kernel)
    }

    /// Whether it is another process's work.
    pub(in crate::driver) fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// The host knows that it is done.
    pub(in crate::driver) fn learn(&self) {
        if let Some(past) = self.past()
            && let Some(launches) = current_work::checker().as_ref().and_then(|checker| checker.launches())
        {
            launches.learn(past);
        }
    }

    /// Whether it is done.
    pub(in crate::driver) fn is_done(&self) -> bool {
        self.at.get().is_some() || self.elsewhere.is_some() && self.is_done_elsewhere()
    }

    #[cold]
    fn is_done_elsewhere(&self) -> bool {
        let done = self.elsewhere.as_ref().is_some_and(|work| work.is_over());
        if done {
            self.complete();
        }
        done
    }

    /// When it was done.
    pub(in crate::driver) fn at(&self) -> Option<Instant> {
        self.at.get().copied()
    }

    /// Sleeps until it is done.
    pub(in crate::driver) fn wait(&self) {
        if self.is_done() {
            return;
        }
        if self.elsewhere.is_some() {
            let mut pause = Pause::default();
            while !self.is_done() {
                pause.rest();
            }
            return;
        }
        self.rouse();
        let mut awaited = lock(&self.awaited);
        while !self.is_done() {
            *awaited = true;
            awaited = self.reached.wait(awaited).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes the queue's thread if it naps, because a thread waits that does not do the work itself.
    pub(in crate::driver) fn rouse(&self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.rouse();
        }
    }

    /// Waits until it is done. This thread does earlier work of the queue, and the work itself, as far as it can begin now and no
    /// other thread is doing it: that takes less time than two threads waking each other.
    ///
    /// For threads of the program. A queue's thread has its own work, and in a function that a stream calls this thread is part of some.
    pub(in crate::driver) fn wait_at_work(&self) {
        if self.is_done() {
            return;
        }
        if let Some(queue) = self.queue.upgrade().filter(|_| !state::in_callback()) {
            while let Some(task) = queue.take_before(self) {
                task.run();
            }
        }
        self.wait();
    }
}
