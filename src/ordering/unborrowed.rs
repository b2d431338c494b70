//! Submissions whose memory is not borrowed: launches of graphs. Independent of the driver: loom tests it.
//!
//! Without a borrow, another thread may submit work that uses the same memory at the same time. One of the two must come after all of
//! the other, so its queue must be made to wait after the other one is submitted, and not before:
//!
//! * An unborrowed submission that must come after an unfinished one withdraws, and is announced again when that one has
//!   finished. So no thread waits for it in the meantime, and no two wait for each other.
//! * Any other submission that must come after an unborrowed one waits until that one has finished or withdrawn.
//!
//! One of the two always sees the other: both are announced before they note an access, and the one that notes second finds the
//! first.
//!
//! If threads share a queue and never pause, some submission is always unfinished. A waiting thread then holds back new ones (see
//! `submissions`).

use super::accesses::Queue;
use super::submissions::Submissions;
use super::waits::Waits;

/// An unborrowed submission that was announced; finished when this is dropped.
pub(crate) struct Unborrowed<'q>(&'q Submissions);

impl<'q> Unborrowed<'q> {
    fn announce(unborrowed: &'q Submissions) -> Self {
        unborrowed.announce_in_turn(|_| true);
        Self(unborrowed)
    }
}

impl Drop for Unborrowed<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Announces an unborrowed submission on the queue that these belong to, and notes its accesses with `note`, which
/// begins with [`Waits::unborrowed`]. Repeats this, with `wait` in between, until all work that must come first is
/// submitted.
///
/// `turn` waits as long as new submissions are held back there. It is called before the announcement: once announced, this
/// submission makes others wait for it, and the holder may be waiting for one of those.
pub(crate) fn announce<'q, Q: Queue, S>(
    turn: impl FnOnce(),
    unborrowed: &'q Submissions,
    mut note: impl FnMut() -> Result<(S, Waits<Q>), Q::Error>,
    mut wait: impl FnMut(&Waits<Q>) -> Result<(), Q::Error>,
) -> Result<(Unborrowed<'q>, S), Q::Error> {
    turn();
    loop {
        let announced = Unborrowed::announce(unborrowed);
        let (submission, waits) = note()?;
        if waits.unsubmitted().next().is_none() {
            // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust leaks that
            // value. One of these may be the last handle of a stream.
            drop(waits);
            return Ok((announced, submission));
        }
        drop((submission, announced));
        wait(&waits)?;
    }
}
