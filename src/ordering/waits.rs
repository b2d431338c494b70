//! What one submission already waits for. Independent of the driver: loom tests it.

use super::accesses::Queue;

/// The queues that one submission waits for, so that it waits once for each, whatever memory they share.
#[derive(Debug)]
pub(crate) struct Waits<Q>(Vec<Wait<Q>>);

#[derive(Debug)]
struct Wait<Q> {
    earlier: Q,
    /// So many submissions had been announced before the wait, and all of them had finished.
    covers: Option<usize>,
}

// Derived, it would ask for a default queue.
impl<Q> Default for Waits<Q> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Q: Queue> Waits<Q> {
    /// Makes `later` wait for what `earlier` was given so far; whether the wait comes after this call began, or covers as much.
    ///
    /// `again`: a wait from before this call will not do, unless nothing has been announced since.
    pub(super) fn wait(&mut self, later: &Q, earlier: &Q, again: bool) -> Result<bool, Q::Error> {
        // Counted before the wait: what is announced after that is not covered.
        let announced = earlier.submissions().announced();
        let known = self.0.iter().position(|wait| wait.earlier.is(earlier));
        if let Some(wait) = known.and_then(|at| self.0.get(at)) {
            if wait.covers == Some(announced) {
                return Ok(true);
            }
            if !again {
                return Ok(false);
            }
        }
        let covers = earlier.submissions().have_finished(announced).then_some(announced);
        later.wait_for(earlier)?;
        match known.and_then(|at| self.0.get_mut(at)) {
            Some(wait) => wait.covers = covers,
            None => self.0.push(Wait { earlier: earlier.clone(), covers }),
        }
        Ok(true)
    }
}
