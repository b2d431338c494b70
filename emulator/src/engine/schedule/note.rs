//! What is known of an instruction that takes part in an order: noted while it is decoded.

use super::super::code::Exec;
use super::super::watch::Note;

/// What the decoder knows about an instruction of a kernel that runs under several orders.
pub(crate) struct Scheduled {
    /// What runs it.
    pub(crate) exec: Exec,
    /// What it does to memory, or to the order of accesses.
    pub(crate) note: Option<Note>,
    /// What there is for an order to do.
    pub(crate) role: Role,
    /// Its line in the PTX text.
    pub(crate) line: u32,
}

/// What there is for an order to do at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    None,
    /// It accesses memory.
    Access {
        /// Whether each thread does so for itself, and some of a warp may do it later than the others.
        parts: bool,
    },
    /// Threads wait for others of their warp or cluster, or a fence: what they stored before is seen.
    Meet,
    /// A fence for the threads of a block, or a barrier of it: these see what was stored before.
    MeetBlock,
    /// Threads end: their block's shared memory may end with them, and what else they stored may still be seen later.
    End,
    /// A branch, where threads may part.
    Branch,
}
