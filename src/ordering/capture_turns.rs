//! The turns of a capture: who gives work to its streams, what is recorded of that, and how it ends. Independent of the driver: loom
//! tests it.
//!
//! What a stream of a capture is given is recorded until the driver is told to end the capture, and would run from then on. So a thread
//! that submits work to one of the streams has the *turn* from before it is told that the capture is open until it has recorded
//! what the work uses. The invariants:
//!
//! 1. The driver is not told to end the capture while a thread has a turn: whoever has one is in the capture until it is over.
//! 2. What was recorded in a turn is in the record that the end takes.
//! 3. The end has the last turn. No stream is forked into the capture, and none is given work, after that: in it, the end joins all forks
//!    with all of their work.
//! 4. Of the threads that end a capture by hand, one is the first to say so: it alone tells the driver, and has the record.
//!
//! Whoever submits takes the turn, and then looks whether the capture is over; whoever ends it first says that it is over, and then takes
//! the turn. One of the two always sees the other: the submission finds the capture over, or the end waits for it.

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
    /// Its accesses on the streams of the capture, which wait for each other as streams outside a capture do.
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
    /// `None` once the record was taken.
    memory: Mutex<Option<Vec<Captured<R, Q>>>>,
    /// As `memory`.
    rest: Mutex<Option<T>>,
}

impl<L: TurnLock, R: Kept, Q: Queue, T: Default> Turns<L, R, Q, T> {
    /// Those of a capture that is about to begin.
    pub(crate) fn new(lock: L) -> Self {
        let (memory, rest) = (Mutex::new(Some(Vec::new())), Mutex::new(Some(T::default())));
        Self { ended: AtomicBool::new(false), lock, memory, rest }
    }

    /// Whether the capture is over: then its streams serve nobody.
    pub(crate) fn has_ended(&self) -> bool {
        // Relaxed: who must not miss the end asks in a turn, and the end has the last one.
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

    /// What else is recorded; `None` once the record was taken, which does not happen in a turn.
    // Nothing panics while the lock is held, and every state of the lists is whole.
    pub(crate) fn rest(&self) -> MutexGuard<'_, Option<T>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // As above.
    fn memory(&self) -> MutexGuard<'_, Option<Vec<Captured<R, Q>>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nobody gets a turn. Whether this is the first to say so, and so the one who ends the capture.
    pub(crate) fn end(&self) -> bool {
        // Relaxed: who has the turn later knows of it by the lock.
        !self.ended.swap(true, Ordering::Relaxed)
    }

    /// From now on nobody gets a turn. Waits for those that there are, and then runs `last` in the last one. Call it before the driver ends
    /// the capture, on a thread that does not have the turn.
    pub(crate) fn close<X>(&self, call: &'static str, last: impl FnOnce() -> X) -> X {
        self.end();
        // An error only where this thread has it.
        let _turn = self.lock.lock(call);
        last()
    }

    /// Ends the record, and returns it for the graph. After `close`, unless nothing was begun.
    pub(crate) fn take_record(&self) -> (Vec<Captured<R, Q>>, T) {
        self.end();
        let (memory, rest) = (self.memory().take(), self.rest().take());
        (memory.unwrap_or_default(), rest.unwrap_or_default())
    }
}
