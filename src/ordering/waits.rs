//! The waits that one submission, or the host, has made so far. Independent of the driver: loom tests it.

use super::accesses::Queue;

/// The queues that one submission waits for, so that it waits only once for each, even if they share several pieces of memory.
///
/// The queues of one piece of memory are named while its list is locked, and waited for after it is unlocked.
#[derive(Debug)]
pub(crate) struct Waits<Q> {
    all: Vec<Wait<Q>>,
    /// Whether the submission withdraws if it finds another one unfinished (see `unborrowed`).
    withdraws: bool,
}

#[derive(Debug)]
struct Wait<Q> {
    earlier: Q,
    /// The number of submissions announced before the wait, if all of them had finished.
    covers: Option<usize>,
    /// What the list of the memory examined last says about this queue.
    named: Named,
    /// The number of submissions announced when some of them, which must come first, were found unfinished.
    unfinished: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// Nothing.
    Not,
    /// It has accesses, and further ones that are not noted may follow.
    Open,
    /// It has accesses up to the note with this number, and no others.
    UpTo(u64),
}

// Not derived: the derive would require `Q: Default`.
impl<Q> Default for Waits<Q> {
    fn default() -> Self {
        Self { all: Vec::new(), withdraws: false }
    }
}

impl<Q: Queue> Waits<Q> {
    /// For a submission whose memory is not borrowed.
    pub(crate) fn unborrowed() -> Self {
        Self { all: Vec::new(), withdraws: true }
    }

    /// Starts with the next piece of memory.
    pub(super) fn begin(&mut self) {
        self.all.iter_mut().for_each(|wait| wait.named = Named::Not);
    }

    /// The memory has accesses by `earlier`: up to this note and no others, or, for `None`, some that unnoted ones may
    /// follow.
    pub(super) fn name(&mut self, earlier: &Q, note: Option<u64>) {
        let named = note.map_or(Named::Open, Named::UpTo);
        let unfinished = note.is_none().then(|| earlier.submissions().announced());
        match self.all.iter_mut().find(|wait| wait.earlier.is(earlier)) {
            Some(wait) => (wait.named, wait.unfinished) = (named, unfinished.or(wait.unfinished)),
            None => self.all.push(Wait { earlier: earlier.clone(), covers: None, named, unfinished }),
        }
    }

    /// The queues that were named while a submission of theirs was unfinished, with the number announced then. Nothing waits for them yet,
    /// even if they have been submitted by now.
    pub(crate) fn unsubmitted(&self) -> impl Iterator<Item = (&Q, usize)> {
        self.all.iter().filter_map(|wait| wait.unfinished.map(|announced| (&wait.earlier, announced)))
    }

    /// Whether all of these are submitted by now.
    pub(crate) fn are_submitted(&self) -> bool {
        self.unsubmitted().all(|(earlier, announced)| earlier.submissions().have_finished(announced))
    }

    /// Makes `later` wait for the work submitted so far to the queues that were named, except for those that make a submission
    /// withdraw.
    pub(super) fn wait(&mut self, later: &Q) -> Result<(), Q::Error> {
        let withdraws = self.withdraws;
        let named = self.all.iter_mut().filter(|wait| wait.named != Named::Not);
        named
            .filter(|wait| !withdraws || wait.unfinished.is_none())
            .try_for_each(|wait| wait.wait(later, withdraws))
    }

    /// The queues that were named.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Q> {
        self.all.iter().filter(|wait| wait.named != Named::Not).map(|wait| &wait.earlier)
    }

    /// Whether a wait for the queues covers all accesses up to the note with this number, with none left out.
    pub(super) fn cover(&self, note: u64) -> bool {
        // A queue that makes a submission withdraw was not waited for.
        let is_waited_for = |wait: &Wait<Q>| !self.withdraws || wait.unfinished.is_none();
        self.all.iter().any(|wait| wait.named == Named::UpTo(note) && is_waited_for(wait))
    }
}

impl<Q: Queue> Wait<Q> {
    /// Makes `later` wait for the work submitted so far, unless an earlier wait covers it.
    ///
    /// A wait that was made before a submission was announced does not cover that submission, even if it is not
    /// submitted yet: it may already be ordered after other streams, and have replaced them in a list.
    fn wait(&mut self, later: &Q, withdraws: bool) -> Result<(), Q::Error> {
        let announced = self.earlier.submissions().announced();
        // The host has seen its end since it was named: one wait for a context is a wait for the per-thread streams of
        // all threads.
        if self.covers == Some(announced) || self.earlier.has_seen_end_of(announced) {
            return Ok(());
        }
        if !withdraws && self.named == Named::Open {
            let unborrowed = self.earlier.unborrowed();
            let begun = unborrowed.announced();
            later.wait_until(&self.earlier, || unborrowed.have_finished(begun))?;
        }
        // Counted before the wait: submissions announced later are not covered.
        let announced = self.earlier.submissions().announced();
        let covers = have_finished(&self.earlier, announced, Some(later)).then_some(announced);
        later.wait_for(&self.earlier)?;
        self.covers = covers;
        Ok(())
    }
}

/// Whether the first `announced` submissions of a queue have finished. `by` has a submission in progress. Different queues may share one
/// count: the per-thread streams of one handle do.
pub(super) fn have_finished<Q: Queue>(queue: &Q, announced: usize, by: Option<&Q>) -> bool {
    let submissions = queue.submissions();
    match by {
        Some(by) if std::ptr::eq(by.submissions(), submissions) => {
            submissions.others_have_finished(announced)
        }
        _ => submissions.have_finished(announced),
    }
}
