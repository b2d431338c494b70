//! What a launch needs of a stream: its handle, its key, and the count of its submissions.

use cuda_driver_sys::CUstream;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::patience::may_be_held_back;
use crate::driver::fault::{Launches, NO_KERNEL};
use crate::ordering::Submissions;

/// What a launch needs of a stream.
#[derive(Debug)]
pub(crate) struct StreamQueue {
    pub(crate) raw: CUstream,
    /// What [`StreamQueue::is_warm_for`] compares: the context's identity, or 0 where every launch takes the longer way.
    pub(super) warm: AtomicUsize,
    /// What stands for it in the memory of its context; [`NO_KEY`] before it accessed any.
    pub(super) key: AtomicU64,
    /// How much it is given, and how much of that the driver has taken.
    pub(crate) submissions: Apart<Submissions>,
    /// Those of them that launch graphs.
    pub(crate) graphs: Submissions,
    /// What may be blamed for a fault.
    pub(crate) launches: Launches,
}

/// In a separate cache line, that nothing beside it is written in.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Added to [`StreamQueue::is_warm_for`]'s word for each hold. The identities of contexts are addresses, and those of two differ in
/// the bits below, which this does not change: the sum is the identity of no other context, and 0 does not become one.
const HELD: usize = 1 << 56;

/// Parts of a submission that have numbers of their own: see [`StreamQueue::announce_parts`].
pub(crate) struct Parts<'q> {
    queue: &'q StreamQueue,
    first: usize,
    count: usize,
}

impl StreamQueue {
    /// Whether a kernel of the context with this identity may be launched on it whatever context is current.
    ///
    /// Relaxed: what takes it away happens where a green context is made, and only a thread that has been handed that context can
    /// have it current.
    #[inline(always)]
    pub(crate) fn is_warm_for(&self, context_identity: usize) -> bool {
        self.warm.load(Ordering::Relaxed) == context_identity
    }

    /// Announces a submission that launches this kernel; its number. It is to be finished.
    #[inline(always)]
    pub(crate) fn announce(&self, kernel: u32) -> usize {
        let number = self.submissions.announce();
        self.launches.note(number, kernel);
        number
    }

    /// Announces so many that are part of one that this thread has announced, and has not given to the driver yet. They finish when
    /// this is dropped: after that.
    pub(crate) fn announce_parts(&self, count: usize) -> Parts<'_> {
        Parts { queue: self, first: self.submissions.announce_parts(count), count }
    }

    /// The same of one that launches nothing so far, and can be held back.
    #[inline(always)]
    pub(crate) fn announce_in_turn(&self) -> usize {
        let number = self.submissions.announce_in_turn(|withdrawn| self.withdraw(withdrawn));
        self.launches.note(number, NO_KERNEL);
        number
    }

    /// The same of one that was announced by this number, and has looked at nothing that still counts.
    pub(crate) fn in_turn(&self, number: usize) -> usize {
        self.launches.note(number, NO_KERNEL);
        self.submissions.in_turn(number, |withdrawn| self.withdraw(withdrawn))
    }

    /// Waits as long as one that is announced now would be held back.
    pub(crate) fn wait_turn(&self) {
        if may_be_held_back() {
            self.submissions.wait_turn();
        }
    }

    /// Whether a submission of this thread is held back; then what was announced by this number launches nothing.
    fn withdraw(&self, number: usize) -> bool {
        let is_held = may_be_held_back();
        if is_held {
            self.launches.note(number, NO_KERNEL);
        }
        is_held
    }

    /// Holds submissions back, also those that were warm.
    pub(super) fn hold(&self) {
        self.submissions.hold(|number| self.launches.note(number, NO_KERNEL));
        self.warm.fetch_add(HELD, Ordering::Relaxed);
    }

    pub(super) fn release(&self) {
        self.warm.fetch_sub(HELD, Ordering::Relaxed);
        self.submissions.release();
    }

    /// The key of the stream in the memory of its context.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        // Acquire: what had this bit before is gone.
        self.key.load(Ordering::Acquire)
    }
}

impl Parts<'_> {
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        let first = self.first;
        (0..self.count).map(move |at| first.wrapping_add(at))
    }

    /// They launch nothing after all.
    pub(crate) fn refused(&self) {
        self.numbers().for_each(|number| self.queue.launches.note(number, NO_KERNEL));
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        self.queue.submissions.finish_all(self.count);
    }
}
