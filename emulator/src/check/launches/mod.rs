//! Races between launches, copies and fills of the host: pieces of work that access the same bytes, one of them writing, though nothing
//! that the program asked for orders them.
//!
//! The driver says what each piece of work comes behind: a [`VectorClock`], by streams, events, graphs, and what the host knew to be over when it
//! submitted the work. When a piece of work ends, the bytes that it accessed are compared with those of all that it is unordered with.
//!
//! Kernels can synchronise by themselves, by atomics and flags in memory. As it is not known what that orders, two pieces of work that
//! access one word so count as ordered, with all that is before the one or behind the other. This may lead over a kernel that still runs, so
//! a race is reported when all that ran at that time is over.
//!
//! A piece of work is remembered until nothing can race with it any more: all that is submitted is behind it, or what is behind it has
//! accessed the same bytes.

mod held;
mod ongoing;
mod runs;
mod table;
mod vector_clock;
mod work;

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Actor, Finding};
pub(crate) use ongoing::{Ongoing, Touched};
pub(crate) use runs::{AccessKind, Reach, Run, Runs};
use table::Table;
pub(crate) use vector_clock::VectorClock;
use work::Work;
pub(crate) use work::{Frees, Label};

/// All work that something may still race with.
#[derive(Debug, Default)]
pub(crate) struct Launches(Mutex<Table>);

impl Launches {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another lane, for work in order.
    pub(crate) fn lane(&self) -> u64 {
        self.table().number()
    }

    /// The host submits something: what it comes behind for that. To be given back by [`over`](Self::over).
    pub(crate) fn submit(&self) -> VectorClock {
        self.table().submit()
    }

    /// What was submitted behind that is over.
    pub(crate) fn over(&self, submitted: &VectorClock) {
        self.table().over(submitted);
    }

    /// The host knows that all of that is over.
    pub(crate) fn learn(&self, past: &VectorClock) {
        self.table().learn(past);
    }

    /// What the host knows.
    pub(crate) fn known(&self) -> VectorClock {
        self.table().known()
    }

    /// Forgets of a past what is of no use.
    pub(crate) fn shorten(&self, past: &mut VectorClock) {
        self.table().shorten(past);
    }

    /// A range of memory, by host address, is given back: what is there next has nothing to do with it.
    pub(crate) fn forget(&self, start: u64, bytes: u64) {
        self.table().forget(start, start.saturating_add(bytes));
    }
}
