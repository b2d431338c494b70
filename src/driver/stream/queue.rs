//! What a launch needs of a stream: its handle, its key, and the count of its submissions.

use cuda_driver_sys::{CUlaunchAttribute, CUstream};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use super::patience::may_be_held_back;
use crate::driver::fault::{Launches, NO_KERNEL};
use crate::driver::kernel::Kernel;
use crate::ordering::Submissions;

/// What a launch needs of a stream.
#[derive(Debug)]
pub(crate) struct StreamQueue {
    pub(crate) handle: Unattributed,
    /// See [`StreamQueue::warm`]: the number of the context, or 0 if every launch takes the cold path.
    pub(super) warm: AtomicU64,
    /// Its key in the memory of its context; [`NO_KEY`] before its first access.
    pub(super) key: AtomicU64,
    /// The submissions that were announced, and those that have finished.
    pub(crate) submissions: Apart<Submissions>,
    /// The submissions among them that launch graphs.
    pub(crate) graphs: Submissions,
    /// The launches that may have caused a fault.
    pub(crate) launches: Launches,
}

/// The stream and attribute fields of the configuration of a launch without attributes, laid out as there, so that both
/// are copied at once.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Unattributed {
    pub(crate) raw: CUstream,
    /// Null.
    pub(crate) attributes: *mut CUlaunchAttribute,
}

/// As far from its neighbours as a pair of cache lines is long, to avoid false sharing. Not by its alignment: the heap takes long to find
/// aligned places.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Apart<T> {
    _before: [u64; 15],
    own: T,
    _behind: [u64; 15],
}

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.own
    }
}

/// Added to the word of [`StreamQueue::warm`] when a hold begins, and subtracted when it ends: a bit below the number of the
/// context and above addresses.
const HELD: u64 = 1 << 48;

/// The bits between address and context number, which are 0 in every kernel's word. No more holds are added than these bits can count, so
/// the sum never carries into the number of another context. The same is true if a default stream's word is set to 0 during a hold: the
/// word is then below every number, or, after the subtraction, has all upper bits set, of which a number has half.
const ALL_HELD: u64 = 0xf * HELD;

/// What ends a hold.
pub(super) type EndOfHold = fn(&StreamQueue);

/// Parts of a submission, each with a number of its own: see [`StreamQueue::announce_parts`].
pub(crate) struct Parts<'q> {
    queue: &'q StreamQueue,
    first: usize,
    count: usize,
}

/// A submission that notes no access and joins no capture.
pub(crate) struct Announced<'q>(&'q StreamQueue);

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.0.submissions.finish();
    }
}

impl StreamQueue {
    /// The number of the context whose kernels may be launched on this stream regardless of the current context; a value that is no
    /// context's number if there is none.
    ///
    /// Relaxed: it is revoked when a green context is created, and only a thread that has received that context can have it
    /// current.
    #[inline(always)]
    pub(crate) fn warm(&self) -> u64 {
        self.warm.load(Ordering::Relaxed)
    }

    /// Whether this kernel may be launched on it regardless of the current context.
    #[inline(always)]
    pub(crate) fn is_warm_for(&self, kernel: &Kernel) -> bool {
        self.warm() == kernel.context_number
    }

    /// Announces a submission that launches this kernel and returns its number. The caller must finish it.
    #[inline(always)]
    pub(crate) fn announce(&self, kernel: u32) -> usize {
        let number = self.submissions.announce();
        self.launches.note(number, kernel);
        number
    }

    /// Announces `count` parts of a submission that this thread has announced and not yet submitted. They finish when the result is
    /// dropped, which must be after that.
    pub(crate) fn announce_parts(&self, count: usize) -> Parts<'_> {
        Parts { queue: self, first: self.submissions.announce_parts(count), count }
    }

    /// The same for a submission that launches no kernel so far, and can be held back.
    #[inline(always)]
    pub(crate) fn announce_in_turn(&self) -> usize {
        let number = self.submissions.announce_in_turn(|withdrawn| self.withdraw(withdrawn));
        self.launches.note(number, NO_KERNEL);
        number
    }

    /// The same for a submission that needs nothing else; it finishes when the result is dropped.
    pub(crate) fn announced(&self) -> Announced<'_> {
        self.announce_in_turn();
        Announced(self)
    }

    /// The same for a submission that was announced with this number, and will read again whatever state it has read so
    /// far.
    pub(crate) fn in_turn(&self, number: usize) -> usize {
        self.launches.note(number, NO_KERNEL);
        self.submissions.in_turn(number, |withdrawn| self.withdraw(withdrawn))
    }

    /// Waits as long as a submission that is announced now would be held back.
    pub(crate) fn wait_turn(&self) {
        if may_be_held_back() {
            self.submissions.wait_turn();
        }
    }

    /// Whether a submission of this thread may be held back; if so, records that the one with this number launches no
    /// kernel.
    fn withdraw(&self, number: usize) -> bool {
        let is_held = may_be_held_back();
        if is_held {
            self.launches.note(number, NO_KERNEL);
        }
        is_held
    }

    /// Holds submissions back, warm launches included.
    #[must_use]
    pub(super) fn hold(&self) -> EndOfHold {
        self.submissions.hold(|number| self.launches.note(number, NO_KERNEL));
        let more = |word: u64| (word & ALL_HELD != ALL_HELD).then(|| word.wrapping_add(HELD));
        match self.warm.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => |queue| {
                queue.warm.fetch_sub(HELD, Ordering::Relaxed);
                queue.submissions.release();
            },
            Err(_) => |queue| queue.submissions.release(),
        }
    }

    /// Holds back launches of graphs.
    #[must_use]
    pub(super) fn hold_graphs(&self) -> EndOfHold {
        self.graphs.hold(|_| ());
        |queue| queue.graphs.release()
    }

    /// The key of the stream in the memory of its context.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        // Acquire: the stream that had this bit before has released it.
        self.key.load(Ordering::Acquire)
    }
}

impl Parts<'_> {
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        let first = self.first;
        (0..self.count).map(move |at| first.wrapping_add(at))
    }

    /// Records that they launch no kernel after all.
    pub(crate) fn refused(&self) {
        self.numbers().for_each(|number| self.queue.launches.note(number, NO_KERNEL));
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        self.queue.submissions.finish_all(self.count);
    }
}
