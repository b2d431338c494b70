//! Work on a stream runs after the work that it depends on, with one stream or fifty, from one thread or sixteen.
//!
//! An *access* is one use of memory by work on a stream: it reads or it writes. Readers never wait for readers. A reader *waits*
//! for the writers before it, a writer for all accesses before it: one event recorded on the earlier stream and one wait on the
//! later one. Memory tracks its accesses ([`Accesses`]) in such a way that a stream that keeps using the same memory
//! reads only one word for each piece of memory, without a lock.
//!
//! A [`Submission`] is announced on its stream, notes its accesses, and finishes when the driver has taken the work, so that no
//! thread can come between a note and its work. On a stream of a capture it has the *turn* of that capture until then ([`Turns`]).
//! `accesses`, `capture_turns`, `entries`, `submissions`, `unborrowed` and `waits` do not depend on a driver: `tests/loom` runs them.

mod accesses;
mod capture_turns;
mod entries;
mod host;
mod submission;
mod submissions;
mod sync;
mod unborrowed;
mod waits;

pub(crate) use accesses::{Accesses, NO_KEY, OWNERS, QUEUES, Queue, owner};
pub(crate) use capture_turns::{Captured, Kept, Refused, TurnLock, Turns};
pub(crate) use host::submit_and_wait;
pub use submission::Submission;
pub(crate) use submissions::Submissions;
pub(crate) use unborrowed::announce;
pub(crate) use waits::Waits;
