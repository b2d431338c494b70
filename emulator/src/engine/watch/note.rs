//! What a watched instruction does: noted while it is decoded, looked up by its site while it runs.

use super::super::code::{Exec, NOTHING, Origin};
use super::event::{Event, Registers};
use super::operand::{Base, Values};

/// What an instruction does to memory, or to the order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Reads.
    Load,
    /// Reads through a texture.
    Fetch,
    /// Writes the operands before the address: registers of 64 bits, or of 32.
    Store {
        /// Whether they have 64 bits.
        wide: bool,
    },
    /// `ldmatrix`: the lanes of that mask each read at their address.
    LoadRows(u32),
    /// `stmatrix`: at the addresses of the lanes of that mask, rows are written that others hold.
    StoreRows(u32),
    /// Reads and writes at once.
    Atomic {
        /// Whether what it leaves depends on what was there.
        reads: bool,
        /// Whether code looks at the number first, as in a loop around `cas`: what it sees is only a guess.
        after_guess: bool,
    },
    /// `cp.async`: operand 0 is the target's address, 1 the source's, 2 how many bytes are read.
    Copy,
    /// `mbarrier`
    Barrier {
        /// Whether it makes the barrier.
        init: bool,
    },
    /// `membar`, `fence`
    Fence,
    /// An instruction at which lanes of a warp meet.
    WarpSync,
}

/// What the decoder knows about an instruction that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// What it does.
    pub(crate) what: What,
    /// Index of the address among the operands.
    pub(crate) address: usize,
    /// Bytes that each lane accesses.
    pub(crate) bytes: u64,
}

/// A watched instruction of a kernel.
pub(crate) struct Watched {
    /// What runs it.
    pub(crate) exec: Exec,
    /// What it does.
    pub(crate) note: Option<Note>,
    /// Which work it has to do with that continues after it.
    pub(crate) event: Option<Event>,
    /// Its registers that such work may use.
    pub(crate) registers: Option<Box<Registers>>,
    /// Its registers that may be undefined.
    pub(crate) values: Option<Box<Values>>,
    /// What its address is computed from.
    pub(crate) base: Option<Base>,
    /// Of a copy: what the address of its source is computed from.
    pub(crate) source: Option<Base>,
    /// Where it comes from.
    pub(crate) origin: Origin,
    /// Which of the kernel's functions it belongs to.
    pub(crate) function: usize,
}

impl Watched {
    /// For a site that no check watches.
    pub(crate) fn nothing() -> Watched {
        let (note, event, registers) = (None, None, None);
        let (values, base, source, origin) = (None, None, None, Origin::default());
        Watched { exec: NOTHING, note, event, registers, values, base, source, origin, function: 0 }
    }

    /// Whether it is a plain store.
    pub(super) fn is_store(&self) -> bool {
        self.note.is_some_and(|note| matches!(note.what, What::Store { .. }))
    }
}

impl What {
    /// What it is called in findings.
    pub(super) fn verb(self) -> &'static str {
        match self {
            What::Store { .. } | What::StoreRows(_) => "write",
            What::Atomic { .. } | What::Barrier { .. } => "atomic access",
            What::Copy => "asynchronous copy",
            What::Fetch => "texture fetch",
            _ => "read",
        }
    }

    /// Whether it leaves other bytes behind.
    pub(super) fn writes(self) -> bool {
        matches!(self, What::Store { .. } | What::StoreRows(_) | What::Atomic { .. })
    }

    /// Whether what it does depends on the bytes that are there.
    pub(in crate::engine) fn reads(self) -> bool {
        matches!(self, What::Load | What::Fetch | What::LoadRows(_) | What::Atomic { reads: true, .. })
    }
}
