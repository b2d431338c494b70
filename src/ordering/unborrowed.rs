//! Submissions of which nobody has borrowed the memory: launches of graphs. Independent of the driver: loom tests it.
//!
//! Another thread may submit work that uses the same memory at the same time. One of the two must come after all of the other, so its
//! queue must be made to wait when the other one is submitted, and not before:
//!
//! * An unborrowed submission that must come after an unfinished one withdraws, and is announced again when that one has
//!   finished: so nobody waits for it meanwhile, and no two wait for each other.
//! * Any other one that must come after it waits until it has finished or withdrawn.
//!
//! One of the two always sees the other: both are announced before they note an access, and whoever notes second finds the first.
//!
//! Where threads share a queue and never pause, there is always an unfinished one. Then who waits holds back new ones (see `submissions`).

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

/// Announces an unborrowed submission on the queue that has these, and notes its accesses by `note`, which begins with
/// [`Waits::unborrowed`]: again and again until all that it comes after is submitted, for which `wait` waits.
///
/// `turn` waits as long as new ones are held back there. That comes first: whoever must come after what is announced would wait as
/// well, and who holds others back may wait for that.
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
            // Not where this function returns: Rust loses a result that is there when what is dropped after it unwinds. The last handle of
            // a stream may be among them.
            drop(waits);
            return Ok((announced, submission));
        }
        drop((submission, announced));
        wait(&waits)?;
    }
}
