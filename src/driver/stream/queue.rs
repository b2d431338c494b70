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
    /// What [`StreamQueue::warm`] says: the number of the context, or 0 where every launch takes the longer way.
    pub(super) warm: AtomicU64,
    /// What stands for it in the memory of its context; [`NO_KEY`] before it accessed any.
    pub(super) key: AtomicU64,
    /// How much it is given, and how much of that the driver has taken.
    pub(crate) submissions: Apart<Submissions>,
    /// Those of them that launch graphs.
    pub(crate) graphs: Submissions,
    /// What may be blamed for a fault.
    pub(crate) launches: Launches,
}

/// A stream as it stands in the configuration of a launch without attributes, which takes both at once.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Unattributed {
    pub(crate) raw: CUstream,
    /// Null.
    pub(crate) attributes: *mut CUlaunchAttribute,
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

/// Added to [`StreamQueue::warm`]'s word for a hold, and taken off at its end: below the number of a context, and above addresses.
const HELD: u64 = 1 << 48;

/// The bits in between, which are 0 in the word of each kernel. No more is added than they have room for, so that the sum never has another
/// context's number above. Nor has it one if a default stream's word becomes 0 meanwhile: it is then less than a number, or all bits above
/// are set by what is taken off, of which a number has half.
const ALL_HELD: u64 = 0xf * HELD;

/// What ends a hold.
pub(super) type EndOfHold = fn(&StreamQueue);

/// Parts of a submission that have numbers of their own: see [`StreamQueue::announce_parts`].
pub(crate) struct Parts<'q> {
    queue: &'q StreamQueue,
    first: usize,
    count: usize,
}

impl StreamQueue {
    /// The number of the context of which kernels may be launched on it whatever context is current; anything else if there is none.
    ///
    /// Relaxed: what takes it away happens where a green context is made, and only a thread that has been handed that context can
    /// have it current.
    #[inline(always)]
    pub(crate) fn warm(&self) -> u64 {
        self.warm.load(Ordering::Relaxed)
    }

    /// Whether this kernel may be launched on it whatever context is current.
    #[inline(always)]
    pub(crate) fn is_warm_for(&self, kernel: &Kernel) -> bool {
        self.warm() == kernel.context_number
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

    /// Holds launches of graphs back.
    #[must_use]
    pub(super) fn hold_graphs(&self) -> EndOfHold {
        self.graphs.hold(|_| ());
        |queue| queue.graphs.release()
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
