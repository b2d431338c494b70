//! The waits of one submission so far, or of the host. Independent of the driver: loom tests it.

use super::accesses::Queue;

/// The queues that one submission waits for, so that it waits only once for each, even if they share several pieces of memory.
///
/// Those of one piece of memory are named while its list is locked, and waited for when it is not.
#[derive(Debug)]
pub(crate) struct Waits<Q>(Vec<Wait<Q>>);

#[derive(Debug)]
struct Wait<Q> {
    earlier: Q,
    /// How many submissions had been announced before the wait, all of which had finished.
    covers: Option<usize>,
    /// What the memory that was looked at last has of it.
    named: Named,
    /// How many submissions had been announced when some of them, which had not finished, were found to come first.
    unfinished: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// Nothing.
    Not,
    /// Accesses, and more may come that are not noted.
    Open,
    /// Accesses up to the note of this number, and no more.
    UpTo(u64),
}

// Derived, it would ask for a default queue.
impl<Q> Default for Waits<Q> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Q: Queue> Waits<Q> {
    /// Another piece of memory is looked at.
    pub(super) fn begin(&mut self) {
        self.0.iter_mut().for_each(|wait| wait.named = Named::Not);
    }

    /// It has accesses of `earlier`: all up to the note of this number, or some to which more may come.
    pub(super) fn name(&mut self, earlier: &Q, note: Option<u64>) {
        let named = note.map_or(Named::Open, Named::UpTo);
        let unfinished = note.is_none().then(|| earlier.submissions().announced());
        match self.0.iter_mut().find(|wait| wait.earlier.is(earlier)) {
            Some(wait) => (wait.named, wait.unfinished) = (named, unfinished.or(wait.unfinished)),
            None => self.0.push(Wait { earlier: earlier.clone(), covers: None, named, unfinished }),
        }
    }

    /// Whether all that was named is submitted by now: what waited for it before that has not waited for all of it.
    pub(crate) fn are_submitted(&self) -> bool {
        let is_over = |wait: &Wait<Q>| {
            wait.unfinished.is_none_or(|announced| wait.earlier.submissions().have_finished(announced))
        };
        self.0.iter().all(is_over)
    }

    /// Whether something was named that was not submitted then.
    pub(crate) fn have_unsubmitted(&self) -> bool {
        self.0.iter().any(|wait| wait.unfinished.is_some())
    }

    /// Makes `later` wait for the work submitted so far to all that were named.
    pub(super) fn wait(&mut self, later: &Q) -> Result<(), Q::Error> {
        self.0.iter_mut().filter(|wait| wait.named != Named::Not).try_for_each(|wait| wait.wait(later))
    }

    /// Those that were named.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Q> {
        self.0.iter().filter(|wait| wait.named != Named::Not).map(|wait| &wait.earlier)
    }

    /// Whether a wait for them was one for all accesses that the note of this number is the last of.
    pub(super) fn cover(&self, note: u64) -> bool {
        self.0.iter().any(|wait| wait.named == Named::UpTo(note))
    }
}

impl<Q: Queue> Wait<Q> {
    /// Makes `later` wait for the work submitted so far, unless an earlier wait covers it.
    ///
    /// A wait from before a submission was announced does not cover it, even if it is not submitted yet: it may already
    /// come after other streams, and have taken their place in a list.
    fn wait(&mut self, later: &Q) -> Result<(), Q::Error> {
        // Counted before the wait: what is announced after that is not covered.
        let announced = self.earlier.submissions().announced();
        // Seen by the host since it was named: one wait for a context is one for all streams of its threads.
        if self.covers == Some(announced) || self.earlier.has_seen_end_of(announced) {
            return Ok(());
        }
        let covers = self.earlier.submissions().have_finished(announced).then_some(announced);
        later.wait_for(&self.earlier)?;
        self.covers = covers;
        Ok(())
    }
}
