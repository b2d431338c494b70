//! How many submissions were announced on a stream, and how many of them have finished. Independent of the driver: loom tests
//! it.
//!
//! A submission is announced before anything checks what it must wait for, and finished when the driver has accepted it.
//! A thread that revokes a stream's permission to proceed first removes the permission and then looks here. One of the two
//! always sees the other: the submission finds no permission, or the other one finds the submission unfinished.
//!
//! Where threads share a stream and never pause, some submission is always unfinished, and no count tells when the earlier ones have
//! finished. Who waits for that can hold back new submissions until all have finished: it announces one that never begins, so that every
//! other one overlaps with it, and looks.

use super::sync::{AtomicBool, AtomicUsize, Ordering, pause};

/// For so many pauses a submission is held back at most: half a second or a second.
const MOST_PAUSES: usize = 6_000;

/// The submissions of one stream.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    announced: AtomicUsize,
    finished: AtomicUsize,
    /// Some submission was announced before an earlier one had finished, so that the two counts are less conclusive.
    overlapped: AtomicBool,
    /// One was held back for as long as any is, by who waits for something else by now: those that follow are not, until nobody holds
    /// any back.
    overstayed: AtomicBool,
    /// So many of them, counted from the first, were seen to have finished.
    known: AtomicUsize,
    /// How many of them hold new ones back. They are announced before they are counted here, and finish after that.
    holds: AtomicUsize,
}

impl Submissions {
    /// Announces a submission, and returns its number.
    #[inline(always)]
    pub(crate) fn announce(&self) -> usize {
        // SeqCst, as the look that follows: see the head of this file.
        let number = self.announced.fetch_add(1, Ordering::SeqCst);
        // Relaxed: an old count only says so too often.
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

    /// The same of one that can be held back, if `withdrawn` agrees. Then it is announced twice, and the first number is `withdrawn`.
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

    /// Waits as long as one that is announced now would be held back.
    pub(crate) fn wait_turn(&self) {
        if (0..MOST_PAUSES).take_while(|_| self.is_held()).map(|_| pause()).count() == MOST_PAUSES {
            self.overstayed.store(true, Ordering::Relaxed);
        }
    }

    fn is_held(&self) -> bool {
        // Relaxed: an old answer holds one more back, or one less, which whoever holds them back does not rely on.
        self.holds.load(Ordering::SeqCst) != 0 && !self.overstayed.load(Ordering::Relaxed)
    }

    /// The same of one that was announced by this number, and has looked at nothing that still counts.
    ///
    /// It is not held back for long: who holds it back may wait for what comes after it.
    pub(crate) fn in_turn(&self, number: usize, withdrawn: impl FnOnce(usize) -> bool) -> usize {
        if !self.is_held() || !withdrawn(number) {
            return number;
        }
        self.finish();
        self.wait_turn();
        self.announce()
    }

    /// Announces so many that finish together with one that was announced, and is not finished: the number of the first.
    ///
    /// None of them overlaps with another: they finish only when all have.
    pub(crate) fn announce_parts(&self, count: usize) -> usize {
        self.announced.fetch_add(count, Ordering::SeqCst)
    }

    /// So many at once.
    pub(crate) fn finish_all(&self, count: usize) {
        self.finished.fetch_add(count, Ordering::AcqRel);
    }

    /// Holds new ones back until [`release`](Self::release), by one that never begins; `note` is told its number before it counts as
    /// finished for anybody.
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
        // AcqRel, so that each brings along what those before it have set.
        self.finished.fetch_add(1, Ordering::AcqRel);
    }

    /// How many were announced so far.
    pub(crate) fn announced(&self) -> usize {
        self.announced.load(Ordering::SeqCst)
    }

    /// Whether the first `announced` of them have finished; may return false although they have.
    ///
    /// As long as each finishes before the next one is announced, the count is enough. If threads share the stream, the only proof is
    /// a moment at which all had finished, which is remembered.
    pub(crate) fn have_finished(&self, announced: usize) -> bool {
        // Acquire: what those have set who were seen.
        if self.known.load(Ordering::Acquire) >= announced {
            return true;
        }
        let finished = self.finished.load(Ordering::SeqCst);
        if finished >= announced && !self.overlapped.load(Ordering::Relaxed) {
            return true;
        }
        self.all_have()
    }

    /// The same for who has announced one that has not finished, and is not asked about: where threads share the count, all but that may
    /// have.
    pub(crate) fn others_have_finished(&self, announced: usize) -> bool {
        self.have_finished(announced) || self.all_but(1).is_some()
    }

    /// How many of them, counted from the first, have certainly finished; may be too low.
    pub(crate) fn finished(&self) -> usize {
        let finished = self.finished.load(Ordering::SeqCst);
        if !self.overlapped.load(Ordering::Relaxed) {
            return finished;
        }
        self.all_have();
        self.known.load(Ordering::Acquire)
    }

    /// Whether there was a moment just now at which all had finished, but for those that hold others back.
    fn all_have(&self) -> bool {
        let all = self.all_but(0);
        if let Some(announced) = all {
            self.known.fetch_max(announced, Ordering::Release);
        }
        all.is_some()
    }

    /// How many were announced, if all but so many of them had finished at a moment just now.
    fn all_but(&self, unfinished: usize) -> Option<usize> {
        // In this order: what has finished was announced before, so equal counts mean that there was such a moment. One that holds others
        // back, and is counted as such, has not been counted as finished, and is counted as announced.
        let (finished, holds) = (self.finished.load(Ordering::SeqCst), self.holds.load(Ordering::SeqCst));
        let announced = self.announced();
        (finished == announced.wrapping_sub(holds + unfinished)).then_some(announced)
    }
}
