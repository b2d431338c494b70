//! The information about an instruction for schedules, recorded by the decoder.

use super::super::code::Exec;
use super::super::watch::Note;

/// What the decoder knows about an instruction of a kernel that runs under several orders.
pub(crate) struct Scheduled {
    /// What runs it.
    pub(crate) exec: Exec,
    /// Its effect on memory, or on the order of accesses.
    pub(crate) note: Option<Note>,
    /// The action of a schedule.
    pub(crate) role: Role,
    /// Its line in the PTX text.
    pub(crate) line: u32,
}

/// The action of a schedule at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    None,
    /// It accesses memory.
    Access {
        /// Whether each thread does so for itself, and some of a warp may do it later than the others.
        parts: bool,
    },
    /// A wait for other threads of the warp or cluster, or a fence: earlier stores become visible.
    Meet,
    /// A fence for the threads of a block, or a barrier of it: earlier stores become visible to the block.
    MeetBlock,
    /// Threads end: their block's shared memory may end with them, and what else they stored may still be seen later.
    End,
    /// A branch, at which threads may diverge.
    Branch,
}
