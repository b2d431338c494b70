//! How a future learns that its work is done. Uses no driver call, no clock, and nothing else of this crate, so that
//! loom can explore the interleavings: `tests/loom` includes this file with loom's types as `super::sync`.
//!
//! A future has a [`Claim`] to a [`Slot`], which it shares with the table of work in flight. The slot holds the output. If the
//! claim is dropped while the work runs, the output stays for the worker, which takes it when the work is done
//! ([`Complete::complete`]); if the claim is dropped after that, the claim drops the output. Which of the two applies is decided
//! under the lock of the slot, so a user's value is never dropped as part of the last reference to a slot, on an arbitrary thread.
//! A forgotten future is a claim that is never dropped. Entries go to one worker (`src/driver/table.rs`). No lock is held while
//! foreign code runs: wakers, drops, marks.

use std::any::Any;
use std::ops::Range;
use std::task::{Poll, Waker};
use std::time::Instant;

use super::sync::{Arc, Mutex, MutexGuard, PoisonError, drop_quietly};

/// A point in the work of a device.
pub(super) trait Mark: Send {
    /// The error of asking.
    type Error: Send;

    /// Whether the work has reached it. An error is passed to the waiting future and ends the wait.
    fn is_done(&self) -> Result<bool, Self::Error>;
}

/// A value that no future will take any more.
pub(super) type Discarded = Box<dyn Any + Send>;

/// What happens at a mark.
pub(super) trait Complete<E>: Send + Sync {
    /// The work is done, or the driver can no longer tell. Returns the output if no future will take it: the caller drops it
    /// where a slow `Drop` does no harm.
    #[must_use = "it may be of a user, whose `Drop` may do anything"]
    fn complete(&self, result: Result<(), E>) -> Option<Discarded>;

    /// The deadline of the waiting future has passed.
    fn expire(&self);
}

/// The output of work in flight, and the waker of the future that waits for it.
pub(super) struct Slot<T, E>(Mutex<State<T, E>>);

struct State<T, E> {
    progress: Progress<E>,
    output: Option<T>,
    waker: Option<Waker>,
}

enum Progress<E> {
    Running,
    /// The future was dropped; the output is kept until the work is done.
    Abandoned,
    /// The output is kept likewise, and the waiting future gets the error that its time is up.
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

    /// Cloning and dropping wakers is foreign code that may panic: no lock is held meanwhile, and no output has been taken
    /// out of the slot.
    fn poll(&self, waker: &Waker) -> Poll<Result<T, Ended<E>>> {
        let end = locked(&self.0).end();
        if let Some(end) = end {
            return Poll::Ready(end);
        }
        let mut waits = Some(waker.clone());
        let is_registered = locked(&self.0).register(&mut waits);
        drop(waits);
        // Once the work is done, it stays so.
        if is_registered { Poll::Pending } else { self.poll(waker) }
    }

    /// Ends the claim. While the work runs, the output stays for the worker; otherwise it is dropped here.
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
        // Several futures may be dropped in a row, or during another panic; a second panic would abort the process.
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
            // Unreachable: there is only one claim, and it still exists.
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

/// Wakes the waiting future, outside the lock.
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
    /// A claim to the output of work in flight: the caller must have [`slot`](Self::slot) completed.
    pub(super) fn new(output: T) -> Self {
        Self(Arc::new(Slot::new(output)))
    }

    /// The slot to be completed.
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
    /// Identifies its stream: the marks of one queue are reached in the order in which they were recorded.
    pub(super) queue: usize,
    pub(super) mark: M,
    /// The mark was recorded between these two times, on a clock that counts the records of all threads.
    pub(super) record: Range<u64>,
    pub(super) slot: Arc<dyn Complete<M::Error>>,
    /// When the wait began.
    pub(super) since: Instant,
    /// When the waiting future is told that its time is up.
    pub(super) deadline: Option<Instant>,
}

// Nothing panics while one of these locks is held, and every intermediate state is valid.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
