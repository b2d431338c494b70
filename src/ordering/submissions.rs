//! How many submissions were announced on a stream, and how many of them have finished. Independent of the driver: loom tests
//! it.
//!
//! A submission is announced before anything checks what it must wait for, and finished when the driver has accepted it.
//! A thread that revokes a stream's permission to proceed first removes the permission and then looks here. One of the two
//! always sees the other: the submission finds no permission, or the other one finds the submission unfinished.

use super::sync::{AtomicBool, AtomicUsize, Ordering};

/// The submissions of one stream.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    announced: AtomicUsize,
    finished: AtomicUsize,
    /// Some submission was announced before an earlier one had finished, so that the two counts are less conclusive.
    overlapped: AtomicBool,
    /// So many of them, counted from the first, were seen to have finished.
    known: AtomicUsize,
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
        self.all_have(finished)
    }

    /// How many of them, counted from the first, have certainly finished; may be too low.
    pub(crate) fn finished(&self) -> usize {
        let finished = self.finished.load(Ordering::SeqCst);
        let known = !self.overlapped.load(Ordering::Relaxed) || self.all_have(finished);
        if known { finished } else { self.known.load(Ordering::Acquire) }
    }

    /// Whether there was a moment at which this many had been announced, and all of them had finished.
    fn all_have(&self, finished: usize) -> bool {
        // In this order: what has finished was announced before, so equal counts mean that there was such a moment.
        let all = finished == self.announced();
        if all {
            self.known.fetch_max(finished, Ordering::Release);
        }
        all
    }
}
