//! How the end of work reaches the future that waits for it. No driver call, no time, and nothing else of this crate, so that
//! loom can try every order of events: `tests/loom` includes this file with loom's types as `super::sync`.
//!
//! A future shares a [`Slot`] with the table of what is in flight. The slot holds the output, so it does not matter who goes
//! first: a future that is dropped leaves its share, and the output is dropped with the last one, after the work. A future that
//! is forgotten is one that does not go. Entries go through the [`Table`] to one worker, which is started with the first, and
//! retires when it has been idle. No lock is held while foreign code runs: wakers, drops, marks.

use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use super::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A point in the work of a device.
pub(super) trait Mark: Send {
    /// What may be wrong.
    type Error: Send;

    /// Whether the work has come to it. An error is told to whoever waits; it ends the wait.
    fn is_done(&self) -> Result<bool, Self::Error>;
}

/// What happens at a mark.
pub(super) trait Complete<E>: Send + Sync {
    /// The work is done, or nobody can tell any more.
    fn complete(&self, result: Result<(), E>);

    /// Whoever waits was promised an end by now.
    fn expire(&self);
}

/// The output of work that is under way, and whoever waits for it.
pub(super) struct Slot<T, E>(Mutex<State<T, E>>);

struct State<T, E> {
    progress: Progress<E>,
    output: Option<T>,
    waker: Option<Waker>,
}

enum Progress<E> {
    Running,
    /// Nobody wants the output any more, which is kept until the work is done.
    Expired,
    Done,
    Failed(E),
    Taken,
}

/// Why there is no output.
#[derive(Debug)]
pub(super) enum Ended<E> {
    Expired,
    Failed(E),
    Taken,
}

impl<T, E> Slot<T, E> {
    pub(super) fn new(output: T) -> Self {
        Self(Mutex::new(State { progress: Progress::Running, output: Some(output), waker: None }))
    }

    /// The output if the work is done; otherwise `waker` is woken when it is.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<T, Ended<E>>> {
        // Cloned before and dropped after the lock: both are foreign code.
        let mut waker = Some(waker.clone());
        let mut state = locked(&self.0);
        let result = match std::mem::replace(&mut state.progress, Progress::Taken) {
            Progress::Running => {
                state.progress = Progress::Running;
                std::mem::swap(&mut state.waker, &mut waker);
                Poll::Pending
            }
            Progress::Expired => {
                state.progress = Progress::Expired;
                Poll::Ready(Err(Ended::Expired))
            }
            Progress::Done => Poll::Ready(state.output.take().ok_or(Ended::Taken)),
            Progress::Failed(error) => Poll::Ready(Err(Ended::Failed(error))),
            Progress::Taken => Poll::Ready(Err(Ended::Taken)),
        };
        drop(state);
        drop(waker);
        result
    }
}

impl<T: Send, E: Send> Complete<E> for Slot<T, E> {
    fn complete(&self, result: Result<(), E>) {
        let mut state = locked(&self.0);
        if matches!(state.progress, Progress::Running) {
            state.progress = match result {
                Ok(()) => Progress::Done,
                Err(error) => Progress::Failed(error),
            };
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn expire(&self) {
        let mut state = locked(&self.0);
        if !matches!(state.progress, Progress::Running) {
            return;
        }
        state.progress = Progress::Expired;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Work in flight.
pub(super) struct Entry<M: Mark> {
    /// What tells its stream from others: of one lane, the marks are come to in order.
    pub(super) lane: usize,
    pub(super) mark: M,
    pub(super) slot: Arc<dyn Complete<M::Error>>,
    /// When the wait began.
    pub(super) since: Instant,
    /// When whoever waits is told that it took too long.
    pub(super) deadline: Option<Instant>,
}

/// The way of entries to the worker that watches them.
pub(super) struct Table<M: Mark> {
    shared: Mutex<Shared<M>>,
    arrived: Condvar,
}

/// What its users and its worker share.
pub(super) struct Shared<M: Mark> {
    arrivals: Vec<Entry<M>>,
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

/// Nobody watches the table: whoever is told so runs a worker.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a worker must be started"]
pub(super) struct Vacancy;

impl<M: Mark> Shared<M> {
    /// Nothing in flight, and no worker.
    pub(super) const EMPTY: Self = Self { arrivals: Vec::new(), worker: Worker::Absent };
}

impl<M: Mark> Table<M> {
    /// A table of these, which are empty; loom's types know no constants.
    pub(super) const fn of(shared: Mutex<Shared<M>>, arrived: Condvar) -> Self {
        Self { shared, arrived }
    }

    /// Hands an entry to the worker; the caller starts one if there is none.
    pub(super) fn push(&self, entry: Entry<M>) -> Option<Vacancy> {
        let mut shared = locked(&self.shared);
        shared.arrivals.push(entry);
        match std::mem::replace(&mut shared.worker, Worker::Awake) {
            Worker::Absent => Some(Vacancy),
            Worker::Awake => None,
            Worker::Asleep => {
                drop(shared);
                self.arrived.notify_one();
                None
            }
        }
    }

    /// For a worker with nothing in flight: sleeps until something arrives. `None` if nothing did for so long; the worker is
    /// then one no more.
    pub(super) fn next(&self, idle: Duration) -> Option<Vec<Entry<M>>> {
        let shared = self.sleep(locked(&self.shared), idle);
        let mut shared = shared;
        if shared.arrivals.is_empty() {
            shared.worker = Worker::Absent;
            return None;
        }
        Some(std::mem::take(&mut shared.arrivals))
    }

    /// For a worker with something in flight: what has arrived, after this time or as soon as something does.
    pub(super) fn arrivals(&self, pause: Duration) -> Vec<Entry<M>> {
        let mut shared = locked(&self.shared);
        if !pause.is_zero() {
            shared = self.sleep(shared, pause);
        }
        std::mem::take(&mut shared.arrivals)
    }

    fn sleep<'a>(&self, mut shared: MutexGuard<'a, Shared<M>>, time: Duration) -> MutexGuard<'a, Shared<M>> {
        if shared.arrivals.is_empty() {
            shared.worker = Worker::Asleep;
            // Woken too early, the worker looks too early: that does no harm.
            shared = self.arrived.wait_timeout(shared, time).unwrap_or_else(PoisonError::into_inner).0;
            shared.worker = Worker::Awake;
        }
        shared
    }
}

// Nothing panics while one of these locks is held, and every state behind them is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
