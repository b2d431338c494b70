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

    /// It has accesses of `earlier`: all up to the note of this number, or some to which more may come. They are for a submission to
    /// `later`.
    pub(super) fn name(&mut self, earlier: &Q, note: Option<u64>, later: Option<&Q>) {
        let named = note.map_or(Named::Open, Named::UpTo);
        let submissions = earlier.submissions();
        // What means a queue of each thread has their submissions in common, and then also this one.
        let is_own = || later.is_some_and(|later| std::ptr::eq(later.submissions(), submissions));
        let is_on_its_way = note.is_none() && !(is_own() && submissions.all_others_have_finished());
        let unfinished = is_on_its_way.then(|| submissions.announced());
        match self.all.iter_mut().find(|wait| wait.earlier.is(earlier)) {
            Some(wait) => (wait.named, wait.unfinished) = (named, unfinished.or(wait.unfinished)),
            None => self.all.push(Wait { earlier: earlier.clone(), covers: None, named, unfinished }),
        }
    }

    /// Whether all that was named is submitted by now.
    pub(crate) fn are_submitted(&self) -> bool {
        let is_over = |wait: &Wait<Q>| {
            wait.unfinished.is_none_or(|announced| wait.earlier.submissions().have_finished(announced))
        };
        self.all.iter().all(is_over)
    }

    /// Whether something was named that was not submitted then: nothing waits for that yet, also where it is submitted by now.
    pub(super) fn have_unsubmitted(&self) -> bool {
        self.all.iter().any(|wait| wait.unfinished.is_some())
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
        let covers = self.earlier.submissions().have_finished(announced).then_some(announced);
        later.wait_for(&self.earlier)?;
        self.covers = covers;
        Ok(())
    }
}
