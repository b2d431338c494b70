//! What is known of a counted instruction: noted while it is decoded.

use super::super::code::Exec;
use super::super::watch::Note;

/// What the decoder knows about an instruction that is counted.
pub(crate) struct Profiled {
    /// What runs it.
    pub(crate) exec: Exec,
    /// What it does to memory.
    pub(crate) note: Option<Note>,
    /// Whether it is a branch with a guard.
    pub(crate) conditional: bool,
}
