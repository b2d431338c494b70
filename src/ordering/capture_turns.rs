//! The turns of a capture: which thread submits work to its streams, what is recorded of that work, and how the capture ends.
//! Independent of the driver: loom tests it.
//!
//! Work submitted to a stream of a capture is recorded until the driver is told to end the capture, and would run at once after that.
//! So a thread that submits work to one of the streams holds the *turn*, from before it checks that the capture is open until it has
//! recorded what the work uses. The invariants:
//!
//! 1. The driver is not told to end the capture while a thread has the turn: until the turn is over, the work of that thread
//!    is captured.
//! 2. Whatever was recorded in a turn is in the record that the thread which ends the capture takes.
//! 3. The thread that ends the capture has the last turn, in which it joins all forks with all of their work. After that no stream is
//!    forked into the capture, and no work is submitted to it.
//! 4. If several threads end a capture by hand, only the first to mark it as ended tells the driver and takes the record.
//!
//! A submission takes the turn and then checks whether the capture has ended; the end first marks the capture as ended and then takes the
//! turn. One of the two always sees the other: either the submission finds the capture ended, or the end waits for it.

use super::accesses::{Accesses, Queue};
use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, PoisonError};
use super::waits::Waits;

/// The lock of the turns.
pub(crate) trait TurnLock {
    /// The turn, until this is dropped.
    type Turn<'l>
    where
        Self: 'l;

    /// The error of a thread that has the turn already.
    type Error;

    /// Waits for the turns of other threads.
    fn lock(&self, call: &'static str) -> Result<Self::Turn<'_>, Self::Error>;
}

/// Memory that a capture keeps.
pub(crate) trait Kept {
    /// Whether it is the same.
    fn is(&self, other: &Self) -> bool;
}

/// Memory that captured work uses.
#[derive(Debug)]
pub(crate) struct Captured<R, Q> {
    /// The memory; kept as long as the graph can run.
    pub(crate) resource: R,
    /// Whether captured work writes it.
    pub(crate) written: bool,
    /// Its accesses on the streams of the capture, which are ordered like those of streams outside a capture.
    within: Accesses<Q>,
}

/// Why a thread may not submit work to a stream of a capture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused<E> {
    /// The capture is over.
    Ended,
    /// Another error.
    Error(E),
}

/// The turns of one capture, and the record of it: memory, and what else is recorded.
pub(crate) struct Turns<L, R, Q, T> {
    ended: AtomicBool,
    /// Held while one of its streams is given work.
    lock: L,
    /// `None` after the record was taken.
    memory: Mutex<Option<Vec<Captured<R, Q>>>>,
    /// As `memory`.
    rest: Mutex<Option<T>>,
}

impl<L: TurnLock, R: Kept, Q: Queue, T: Default> Turns<L, R, Q, T> {
    /// The turns of a capture that is about to begin.
    pub(crate) fn new(lock: L) -> Self {
        let (memory, rest) = (Mutex::new(Some(Vec::new())), Mutex::new(Some(T::default())));
        Self { ended: AtomicBool::new(false), lock, memory, rest }
    }

    /// Whether the capture has ended: its streams then accept no more work.
    pub(crate) fn has_ended(&self) -> bool {
        // Relaxed: a thread that must not miss the end checks in a turn, and the end has the last turn.
        self.ended.load(Ordering::Relaxed)
    }

    /// A thread that submits work to a stream of the capture holds this until what the work uses is recorded. The capture is open
    /// meanwhile: see the head of this file.
    pub(crate) fn turn(&self, call: &'static str) -> Result<L::Turn<'_>, Refused<L::Error>> {
        let turn = self.lock.lock(call).map_err(Refused::Error)?;
        if self.has_ended() { Err(Refused::Ended) } else { Ok(turn) }
    }

    /// Records an access and orders it after those on other streams of this capture. Call it in a turn.
    pub(crate) fn touch(
        &self,
        resource: R,
        queue: &Q,
        waits: &mut Waits<Q>,
        write: bool,
    ) -> Result<(), Refused<Q::Error>> {
        let mut memory = self.memory();
        let memory = memory.as_mut().ok_or(Refused::Ended)?;
        let known = memory.iter().position(|captured| captured.resource.is(&resource));
        let index = known.unwrap_or_else(|| {
            memory.push(Captured { resource, written: false, within: Accesses::new(0) });
            memory.len() - 1
        });
        let captured = memory.get_mut(index).ok_or(Refused::Ended)?;
        captured.written |= write;
        let within = &captured.within;
        if write { within.write(queue, waits) } else { within.read(queue, waits) }.map_err(Refused::Error)
    }

    /// The rest of the record; `None` after the record was taken, which never happens during a turn.
    // Nothing panics while the lock is held, and every state of the lists is whole.
    pub(crate) fn rest(&self) -> MutexGuard<'_, Option<T>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // As above.
    fn memory(&self) -> MutexGuard<'_, Option<Vec<Captured<R, Q>>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the capture as ended, after which no thread gets a turn. Returns whether this call was the first, whose
    /// caller then ends the capture.
    pub(crate) fn end(&self) -> bool {
        // Relaxed: a thread that takes the turn later sees it through the lock.
        !self.ended.swap(true, Ordering::Relaxed)
    }

    /// Marks the capture as ended, waits for the turn in progress, and runs `last` in the last turn. To be called before the driver ends
    /// the capture, on a thread that does not have the turn.
    pub(crate) fn close<X>(&self, call: &'static str, last: impl FnOnce() -> X) -> X {
        self.end();
        // An error only if this thread has the turn.
        let _turn = self.lock.lock(call);
        last()
    }

    /// Takes the record, for the graph. To be called after `close`, unless the capture never began.
    pub(crate) fn take_record(&self) -> (Vec<Captured<R, Q>>, T) {
        self.end();
        let (memory, rest) = (self.memory().take(), self.rest().take());
        (memory.unwrap_or_default(), rest.unwrap_or_default())
    }
}
