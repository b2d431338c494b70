//! The way of things to one worker thread, which is started with the first of them, and retires when it has been idle.
//!
//! No driver call, and nothing else of this crate, so that loom can try the orders of events: `tests/loom` includes this file with
//! loom's types as `super::sync`.

use std::time::Duration;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The way of things to one worker.
pub(crate) struct Table<T> {
    shared: Mutex<Shared<T>>,
    arrived: Condvar,
}

/// What its users and its worker share.
pub(crate) struct Shared<T> {
    arrivals: Vec<T>,
    worker: Worker,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    /// There is none.
    Absent,
    /// It looks for arrivals before it sleeps.
    Awake,
    Asleep,
}

/// Returned if no worker is serving the table: the caller must run one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a worker must be started"]
pub(crate) struct WorkerNeeded;

impl<T> Shared<T> {
    /// Nothing on its way, and no worker.
    pub(crate) const EMPTY: Self = Self { arrivals: Vec::new(), worker: Worker::Absent };
}

impl<T> Table<T> {
    /// A table of these, which are empty; loom's types know no constants.
    pub(crate) const fn of(shared: Mutex<Shared<T>>, arrived: Condvar) -> Self {
        Self { shared, arrived }
    }

    /// Hands things to the worker; the caller starts one if there is none.
    pub(crate) fn push(&self, things: impl IntoIterator<Item = T>) -> Option<WorkerNeeded> {
        let mut shared = locked(&self.shared);
        shared.arrivals.extend(things);
        match std::mem::replace(&mut shared.worker, Worker::Awake) {
            Worker::Absent => Some(WorkerNeeded),
            Worker::Awake => None,
            Worker::Asleep => {
                drop(shared);
                self.arrived.notify_one();
                None
            }
        }
    }

    /// No worker could be started: the next caller gets a `WorkerNeeded` again.
    pub(crate) fn leave_vacant(&self, _: WorkerNeeded) {
        locked(&self.shared).worker = Worker::Absent;
    }

    /// For a worker with nothing in hand: sleeps until something arrives. `None` if nothing did for so long; the worker is
    /// then one no more.
    pub(crate) fn next(&self, idle: Duration) -> Option<Vec<T>> {
        let mut shared = self.sleep(locked(&self.shared), idle);
        if shared.arrivals.is_empty() {
            shared.worker = Worker::Absent;
            return None;
        }
        Some(std::mem::take(&mut shared.arrivals))
    }

    /// For a worker with something in hand: what has arrived, after this time or as soon as something does.
    pub(crate) fn arrivals(&self, pause: Duration) -> Vec<T> {
        let mut shared = locked(&self.shared);
        if !pause.is_zero() {
            shared = self.sleep(shared, pause);
        }
        std::mem::take(&mut shared.arrivals)
    }

    fn sleep<'a>(&self, mut shared: MutexGuard<'a, Shared<T>>, time: Duration) -> MutexGuard<'a, Shared<T>> {
        if shared.arrivals.is_empty() {
            shared.worker = Worker::Asleep;
            // Woken too early, the worker looks too early: that does no harm.
            shared = self.arrived.wait_timeout(shared, time).unwrap_or_else(PoisonError::into_inner).0;
            shared.worker = Worker::Awake;
        }
        shared
    }
}

// Nothing panics while the lock is held, and every state behind it is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(cuda_launch_loom)))]
mod tests {
    use super::*;

    #[test]
    fn where_no_worker_can_be_started_the_next_one_to_come_is_told_so() {
        let table = Table::of(Mutex::new(Shared::EMPTY), Condvar::new());
        let vacancy = table.push([1]);
        assert!(vacancy.is_some() && table.push([2]).is_none(), "one is being started");
        vacancy.into_iter().for_each(|vacancy| table.leave_vacant(vacancy));
        assert!(table.push([3]).is_some());
        assert_eq!(table.next(Duration::ZERO), Some(vec![1, 2, 3]), "nothing is lost");
        assert_eq!(table.next(Duration::ZERO), None);
        assert!(table.push([4]).is_some(), "it has retired");
    }
}
