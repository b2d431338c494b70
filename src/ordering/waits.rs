//! The waits of one submission so far, or of the host. Independent of the driver: loom tests it.

use super::accesses::Queue;

/// The queues that one submission waits for, so that it waits only once for each, even if they share several pieces of memory.
///
/// Those of one piece of memory are named while its list is locked, and waited for when it is not.
#[derive(Debug)]
pub(crate) struct Waits<Q> {
    all: Vec<Wait<Q>>,
    /// They are those of a submission that withdraws where it finds another one unfinished (see `unborrowed`).
    withdraws: bool,
}

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
        Self { all: Vec::new(), withdraws: false }
    }
}

impl<Q: Queue> Waits<Q> {
    /// For a submission of which nobody has borrowed the memory.
    pub(crate) fn unborrowed() -> Self {
        Self { all: Vec::new(), withdraws: true }
    }

    /// Another piece of memory is looked at.
    pub(super) fn begin(&mut self) {
        self.all.iter_mut().for_each(|wait| wait.named = Named::Not);
    }

    /// It has accesses of `earlier`: all up to the note of this number, or some to which more may come.
    pub(super) fn name(&mut self, earlier: &Q, note: Option<u64>) {
        let named = note.map_or(Named::Open, Named::UpTo);
        let unfinished = note.is_none().then(|| earlier.submissions().announced());
        match self.all.iter_mut().find(|wait| wait.earlier.is(earlier)) {
            Some(wait) => (wait.named, wait.unfinished) = (named, unfinished.or(wait.unfinished)),
            None => self.all.push(Wait { earlier: earlier.clone(), covers: None, named, unfinished }),
        }
    }

    /// What was named and not submitted then, with the number that was announced: nothing waits for that yet, also where it is submitted by
    /// now.
    pub(crate) fn unsubmitted(&self) -> impl Iterator<Item = (&Q, usize)> {
        self.all.iter().filter_map(|wait| wait.unfinished.map(|announced| (&wait.earlier, announced)))
    }

    /// Whether all of that is submitted by now.
    pub(crate) fn are_submitted(&self) -> bool {
        self.unsubmitted().all(|(earlier, announced)| earlier.submissions().have_finished(announced))
    }

    /// Makes `later` wait for the work submitted so far to all that were named. If it withdraws, then for nothing that makes it do so.
    pub(super) fn wait(&mut self, later: &Q) -> Result<(), Q::Error> {
        let withdraws = self.withdraws;
        let named = self.all.iter_mut().filter(|wait| wait.named != Named::Not);
        named
            .filter(|wait| !withdraws || wait.unfinished.is_none())
            .try_for_each(|wait| wait.wait(later, withdraws))
    }

    /// Those that were named.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Q> {
        self.all.iter().filter(|wait| wait.named != Named::Not).map(|wait| &wait.earlier)
    }

    /// Whether a wait for them was one for all accesses that the note of this number is the last of.
    pub(super) fn cover(&self, note: u64) -> bool {
        // What makes a submission withdraw was not waited for.
        let is_waited_for = |wait: &Wait<Q>| !self.withdraws || wait.unfinished.is_none();
        self.all.iter().any(|wait| wait.named == Named::UpTo(note) && is_waited_for(wait))
    }
}

impl<Q: Queue> Wait<Q> {
    /// Makes `later` wait for the work submitted so far, unless an earlier wait covers it.
    ///
    /// A wait from before a submission was announced does not cover it, even if it is not submitted yet: it may already
    /// come after other streams, and have taken their place in a list.
    fn wait(&mut self, later: &Q, withdraws: bool) -> Result<(), Q::Error> {
        let announced = self.earlier.submissions().announced();
        // Seen by the host since it was named: one wait for a context is one for all streams of its threads.
        if self.covers == Some(announced) || self.earlier.has_seen_end_of(announced) {
            return Ok(());
        }
        if !withdraws && self.named == Named::Open {
            let unborrowed = self.earlier.unborrowed();
            let begun = unborrowed.announced();
            later.wait_until(&self.earlier, || unborrowed.have_finished(begun))?;
        }
        // Counted before the wait: what is announced after that is not covered.
        let announced = self.earlier.submissions().announced();
        let covers = have_finished(&self.earlier, announced, Some(later)).then_some(announced);
        later.wait_for(&self.earlier)?;
        self.covers = covers;
        Ok(())
    }
}

/// Whether the first `announced` submissions of a queue have finished. `by` is in the middle of one: queues that are not the same may share
/// their count, as those of a handle do that means another stream on each thread.
pub(super) fn have_finished<Q: Queue>(queue: &Q, announced: usize, by: Option<&Q>) -> bool {
    let submissions = queue.submissions();
    match by {
        Some(by) if std::ptr::eq(by.submissions(), submissions) => {
            submissions.others_have_finished(announced)
        }
        _ => submissions.have_finished(announced),
    }
}
