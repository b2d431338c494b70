//! How many submissions were announced on a stream, and how many of them have finished. Independent of the driver: loom tests
//! it.
//!
//! A submission is announced before anything checks what it must wait for, and finished when the driver has accepted it. A
//! thread that revokes a stream's permission to proceed (its bit in the memory's word) first removes the permission and
//! then checks here. One of the two always sees the other: either the submission finds no permission, or the thread finds
//! the submission unfinished.
//!
//! If threads share a stream and never pause, some submission is always unfinished, and the counts never tell that the earlier ones have
//! finished. A thread that waits for that can hold back new submissions until all have finished: it announces a submission that never
//! begins, so that every other one overlaps with it and checks whether it is held back.

use super::sync::{AtomicBool, AtomicUsize, Ordering, pause};

/// The largest number of pauses for which a submission is held back: half a second to a second.
const MOST_PAUSES: usize = 6_000;

/// The submissions of one stream.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    announced: AtomicUsize,
    finished: AtomicUsize,
    /// Whether a submission was ever announced before an earlier one had finished: the two counts alone then prove
    /// less.
    overlapped: AtomicBool,
    /// A submission was held back for the maximum time, so the holder must be waiting for something else by now: further submissions
    /// are not held back until all current holds have ended.
    overstayed: AtomicBool,
    /// The number of submissions, counted from the first, that are known to have finished.
    known: AtomicUsize,
    /// The number of holds: submissions that never begin and hold new ones back. Each is announced before it is counted
    /// here, and finishes after it is no longer counted.
    holds: AtomicUsize,
}

impl Submissions {
    /// Announces a submission, and returns its number.
    #[inline(always)]
    pub(crate) fn announce(&self) -> usize {
        // SeqCst, like the load that follows: see the head of this file.
        let number = self.announced.fetch_add(1, Ordering::SeqCst);
        // Relaxed: a stale count only reports an overlap too often.
        if self.finished.load(Ordering::Relaxed) != number {
            self.overlap();
        }
        number
    }

    #[cold]
    fn overlap(&self) {
        // Relaxed: whoever sees that this submission has finished sees this too.
        self.overlapped.store(true, Ordering::Relaxed);
    }

    /// The same for a submission that can be held back, if `withdrawn` agrees. It is then announced twice; `withdrawn` is given the
    /// first number.
    #[inline(always)]
    pub(crate) fn announce_in_turn(&self, withdrawn: impl FnOnce(usize) -> bool) -> usize {
        let number = self.announced.fetch_add(1, Ordering::SeqCst);
        if self.finished.load(Ordering::Relaxed) == number {
            return number;
        }
        self.overlap_in_turn(number, withdrawn)
    }

    #[cold]
    #[inline(never)]
    fn overlap_in_turn(&self, number: usize, withdrawn: impl FnOnce(usize) -> bool) -> usize {
        self.overlap();
        self.in_turn(number, withdrawn)
    }

    /// Waits as long as a submission that is announced now would be held back.
    pub(crate) fn wait_turn(&self) {
        if (0..MOST_PAUSES).take_while(|_| self.is_held()).map(|_| pause()).count() == MOST_PAUSES {
            self.overstayed.store(true, Ordering::Relaxed);
        }
    }

    fn is_held(&self) -> bool {
        // Relaxed: a stale value holds one submission more or less back; the holder does not rely on it.
        self.holds.load(Ordering::SeqCst) != 0 && !self.overstayed.load(Ordering::Relaxed)
    }

    /// The same for a submission that was announced with this number, and will read again whatever state it has read so
    /// far.
    ///
    /// It is not held back for long: the holder may be waiting for something that comes after it.
    pub(crate) fn in_turn(&self, number: usize, withdrawn: impl FnOnce(usize) -> bool) -> usize {
        if !self.is_held() || !withdrawn(number) {
            return number;
        }
        self.finish();
        self.wait_turn();
        self.announce()
    }

    /// Announces `count` submissions that finish together with one that is announced and not finished; returns the
    /// number of the first.
    ///
    /// They need not be marked as overlapping, because they all finish at once.
    pub(crate) fn announce_parts(&self, count: usize) -> usize {
        self.announced.fetch_add(count, Ordering::SeqCst)
    }

    /// Finishes `count` submissions at once.
    pub(crate) fn finish_all(&self, count: usize) {
        self.finished.fetch_add(count, Ordering::AcqRel);
    }

    /// Holds new submissions back until [`release`](Self::release), by announcing one that never begins; `note` gets its number
    /// before any thread can count it as finished.
    pub(crate) fn hold(&self, note: impl FnOnce(usize)) {
        // Relaxed: whoever sees that it has finished sees this too.
        self.overlapped.store(true, Ordering::Relaxed);
        note(self.announced.fetch_add(1, Ordering::SeqCst));
        if self.holds.fetch_add(1, Ordering::SeqCst) == 0 {
            self.overstayed.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn release(&self) {
        self.holds.fetch_sub(1, Ordering::SeqCst);
        self.finish();
    }

    /// The driver has accepted a submission, or refused it.
    #[inline(always)]
    pub(crate) fn finish(&self) {
        // AcqRel, so that each finish also publishes what the earlier ones have written.
        self.finished.fetch_add(1, Ordering::AcqRel);
    }

    /// How many were announced so far.
    pub(crate) fn announced(&self) -> usize {
        self.announced.load(Ordering::SeqCst)
    }

    /// Whether the first `announced` of them have finished; may return false although they have.
    ///
    /// As long as each submission finishes before the next one is announced, comparing the counts is enough. If threads share the
    /// stream, the only proof is a moment at which all had finished, which `known` remembers.
    pub(crate) fn have_finished(&self, announced: usize) -> bool {
        // Acquire: makes visible what the finished submissions have written.
        if self.known.load(Ordering::Acquire) >= announced {
            return true;
        }
        let finished = self.finished.load(Ordering::SeqCst);
        if finished >= announced && !self.overlapped.load(Ordering::Relaxed) {
            return true;
        }
        self.all_have()
    }

    /// The same for a caller that has an unfinished submission of its own, which does not count: if threads share the stream, all others
    /// may have finished.
    pub(crate) fn others_have_finished(&self, announced: usize) -> bool {
        self.have_finished(announced) || self.all_but(1).is_some()
    }

    /// The number of submissions, counted from the first, that have certainly finished; may be too low.
    pub(crate) fn finished(&self) -> usize {
        let finished = self.finished.load(Ordering::SeqCst);
        if !self.overlapped.load(Ordering::Relaxed) {
            return finished;
        }
        self.all_have();
        self.known.load(Ordering::Acquire)
    }

    /// Whether there was a moment during this call at which all had finished, except for holds.
    fn all_have(&self) -> bool {
        let all = self.all_but(0);
        if let Some(announced) = all {
            self.known.fetch_max(announced, Ordering::Release);
        }
        all.is_some()
    }

    /// The number of announced submissions, if at some moment during this call all but `unfinished` of them (and the
    /// holds) had finished.
    fn all_but(&self, unfinished: usize) -> Option<usize> {
        // Loaded in this order: what has finished was announced before, so equal counts prove that there was such a moment. A hold that
        // is counted in `holds` is already counted as announced, and not yet as finished.
        let (finished, holds) = (self.finished.load(Ordering::SeqCst), self.holds.load(Ordering::SeqCst));
        let announced = self.announced();
        (finished == announced.wrapping_sub(holds + unfinished)).then_some(announced)
    }
}
