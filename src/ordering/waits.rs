//! The waits of one submission so far. Independent of the driver: loom tests it.

use super::accesses::Queue;

/// The queues that one submission waits for, so that it waits only once for each, even if they share several pieces of memory.
#[derive(Debug)]
pub(crate) struct Waits<Q>(Vec<Wait<Q>>);

#[derive(Debug)]
struct Wait<Q> {
    earlier: Q,
    /// How many submissions had been announced before the wait, all of which had finished.
    covers: Option<usize>,
}

// Derived, it would ask for a default queue.
impl<Q> Default for Waits<Q> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Q: Queue> Waits<Q> {
    /// Makes `later` wait for the work submitted to `earlier` so far, unless an earlier wait covers it.
    ///
    /// A wait from before a submission was announced on `earlier` does not cover it, even if it is not submitted yet: it may already
    /// come after other streams, and have taken their place in a list.
    pub(super) fn wait(&mut self, later: &Q, earlier: &Q) -> Result<(), Q::Error> {
        // Counted before the wait: what is announced after that is not covered.
        let announced = earlier.submissions().announced();
        // Then nothing is left to wait for: an event that is recorded now would not stand for what is announced later either.
        if earlier.has_seen_end_of(announced) {
            return Ok(());
        }
        let known = self.0.iter().position(|wait| wait.earlier.is(earlier));
        if known.and_then(|at| self.0.get(at)).is_some_and(|wait| wait.covers == Some(announced)) {
            return Ok(());
        }
        let covers = earlier.submissions().have_finished(announced).then_some(announced);
        later.wait_for(earlier)?;
        match known.and_then(|at| self.0.get_mut(at)) {
            Some(wait) => wait.covers = covers,
            None => self.0.push(Wait { earlier: earlier.clone(), covers }),
        }
        Ok(())
    }
}
