//! How a future learns that its work is done. No driver call, no time, and nothing else of this crate, so that
//! loom can try the orders of events: `tests/loom` includes this file with loom's types as `super::sync`.
//!
//! A future has a [`Claim`] to a [`Slot`], which it shares with the table of what is in flight. The slot holds the output. A claim
//! that ends while the work runs leaves the output to the worker, which gets it back when the work is done
//! ([`Complete::complete`]); later the claim drops it. Which of the two is decided under the lock of the slot, so that nothing of
//! a user ends with a share of a slot, on whatever thread that is. A future that is forgotten is a claim that does not end.
//! Entries go to one worker (`src/driver/table.rs`). No lock is held while foreign code runs: wakers, drops, marks.

use std::any::Any;
use std::ops::Range;
use std::task::{Poll, Waker};
use std::time::Instant;

use super::sync::{Arc, Mutex, MutexGuard, PoisonError, drop_quietly};

/// A point in the work of a device.
pub(super) trait Mark: Send {
    /// What may be wrong.
    type Error: Send;

    /// Whether the work has come to it. An error is told to whoever waits; it ends the wait.
    fn is_done(&self) -> Result<bool, Self::Error>;
}

/// What nobody wants any more.
pub(super) type Discarded = Box<dyn Any + Send>;

/// What happens at a mark.
pub(super) trait Complete<E>: Send + Sync {
    /// The work is done, or nobody can tell any more. Gives back the output that nobody wants: the caller drops it, where its end
    /// may take its time.
    #[must_use = "it may be of a user, whose `Drop` may do anything"]
    fn complete(&self, result: Result<(), E>) -> Option<Discarded>;

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
    /// No future waits any more; the output is kept until the work is done.
    Abandoned,
    /// Like that, and the waiting future learns that the time is up.
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
    fn new(output: T) -> Self {
        Self(Mutex::new(State { progress: Progress::Running, output: Some(output), waker: None }))
    }

    /// Clones and drops of wakers are foreign code, which may panic: nothing is locked meanwhile, and no output is in hand.
    fn poll(&self, waker: &Waker) -> Poll<Result<T, Ended<E>>> {
        let end = locked(&self.0).end();
        if let Some(end) = end {
            return Poll::Ready(end);
        }
        let mut waits = Some(waker.clone());
        let is_registered = locked(&self.0).register(&mut waits);
        drop(waits);
        // What is over stays so.
        if is_registered { Poll::Pending } else { self.poll(waker) }
    }

    /// The claim ends. While the work runs, the output stays for the worker; else it ends here.
    fn abandon(&self) {
        let mut state = locked(&self.0);
        let waker = state.waker.take();
        let output = match state.progress {
            Progress::Running => {
                state.progress = Progress::Abandoned;
                None
            }
            Progress::Abandoned | Progress::Expired => None,
            Progress::Done | Progress::Failed(_) | Progress::Taken => state.output.take(),
        };
        drop(state);
        // Several futures may end one after the other, or because something else has panicked: a second panic would be the process's end.
        drop_quietly(waker);
        drop(output);
    }
}

impl<T, E> State<T, E> {
    /// How the wait has ended; `None` while the work runs.
    fn end(&mut self) -> Option<Result<T, Ended<E>>> {
        match std::mem::replace(&mut self.progress, Progress::Taken) {
            Progress::Running => {
                self.progress = Progress::Running;
                None
            }
            Progress::Expired => {
                self.progress = Progress::Expired;
                Some(Err(Ended::Expired))
            }
            Progress::Done => Some(self.output.take().ok_or(Ended::Taken)),
            Progress::Failed(error) => Some(Err(Ended::Failed(error))),
            // There is one claim, which has not ended.
            Progress::Abandoned | Progress::Taken => Some(Err(Ended::Taken)),
        }
    }

    /// Exchanges the waker while the work runs; `false` if it is over.
    fn register(&mut self, waker: &mut Option<Waker>) -> bool {
        let runs = matches!(self.progress, Progress::Running);
        if runs {
            std::mem::swap(&mut self.waker, waker);
        }
        runs
    }
}

impl<T: Send + 'static, E: Send> Complete<E> for Slot<T, E> {
    fn complete(&self, result: Result<(), E>) -> Option<Discarded> {
        let mut state = locked(&self.0);
        match state.progress {
            Progress::Running => {}
            Progress::Abandoned | Progress::Expired => {
                let output = state.output.take();
                drop(state);
                return output.map(|output| Box::new(output) as Discarded);
            }
            Progress::Done | Progress::Failed(_) | Progress::Taken => return None,
        }
        state.progress = match result {
            Ok(()) => Progress::Done,
            Err(error) => Progress::Failed(error),
        };
        wake(state);
        None
    }

    fn expire(&self) {
        let mut state = locked(&self.0);
        if matches!(state.progress, Progress::Running) {
            state.progress = Progress::Expired;
            wake(state);
        }
    }
}

/// Wakes whoever waits, outside the lock.
fn wake<T, E>(mut state: MutexGuard<'_, State<T, E>>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The one right to the output of a slot.
pub(super) struct Claim<T, E>(Arc<Slot<T, E>>);

impl<T, E> Claim<T, E> {
    /// To the output of work that is under way: [`slot`](Self::slot) is to be completed.
    pub(super) fn new(output: T) -> Self {
        Self(Arc::new(Slot::new(output)))
    }

    /// What is to be completed.
    pub(super) fn slot(&self) -> &Arc<Slot<T, E>> {
        &self.0
    }

    /// The output if the work is done; otherwise `waker` is woken when it is.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<T, Ended<E>>> {
        self.0.poll(waker)
    }
}

impl<T, E> Drop for Claim<T, E> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Work in flight.
pub(super) struct Entry<M: Mark> {
    /// What tells its stream from others: of one queue, the marks are come to in the order of their records.
    pub(super) queue: usize,
    pub(super) mark: M,
    /// The mark was recorded between these two moments, of a clock that counts the records of all threads.
    pub(super) record: Range<u64>,
    pub(super) slot: Arc<dyn Complete<M::Error>>,
    /// When the wait began.
    pub(super) since: Instant,
    /// When whoever waits is told that it took too long.
    pub(super) deadline: Option<Instant>,
}

// Nothing panics while one of these locks is held, and every state behind them is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
