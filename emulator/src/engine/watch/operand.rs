//! What the decoder notes of the operands of a watched instruction: values that may be undefined, and what its address is computed from.

use std::sync::Arc;

use super::super::warp_op::WarpOp;

/// What an instruction does with undefined values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rule {
    /// What it writes is defined.
    #[default]
    None,
    /// What it writes is its operand.
    Move,
    /// What it writes is computed from its operands, and undefined if one of them is.
    All,
    /// It picks operand 1 or 2 by the predicate that is operand 3.
    Select,
    /// `and` of predicates: false and anything is false.
    And,
    /// `or` of predicates.
    Or,
    /// Where control goes must be defined: operand 0, if it has one.
    Branch,
    /// Its address must be, and the number that it stores in global memory.
    Memory,
    /// A shuffle: operand 2 is the value, 3 and 4 say from where.
    Shuffle,
    /// It reads a texture or a surface: what it reads has to be written.
    Fetch,
}

impl Rule {
    /// Whether undefined operands make its results undefined.
    pub(in crate::engine) fn passes_on(self) -> bool {
        matches!(self, Rule::Move | Rule::All | Rule::Select | Rule::And | Rule::Or | Rule::Shuffle)
    }
}

/// An instruction and the registers that may be undefined.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub(crate) rule: Rule,
    /// Those that it writes, with the number of the operand.
    pub(crate) written: Vec<(usize, u32)>,
    /// Those that it reads, with the number of the operand.
    pub(crate) read: Vec<(usize, u32)>,
    /// That which guards it.
    pub(crate) guard: Option<u32>,
    /// What that decides beside the values of registers, in the words of findings.
    pub(crate) decides: Option<&'static str>,
    /// Its access to memory that may be local.
    pub(crate) local: Option<LocalAccess>,
    /// How a shuffle finds its lanes.
    pub(crate) shuffle: Option<WarpOp>,
}

/// An access that may be to local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalAccess {
    /// Index of the address among the operands.
    pub(crate) address: usize,
    /// Bytes of an element.
    pub(crate) bytes: u32,
    /// How many there are.
    pub(crate) elements: usize,
    /// Whether it stores them.
    pub(crate) stores: bool,
}

/// What an address is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// A variable in shared memory.
    Shared {
        /// Its name.
        name: Arc<str>,
        /// Its address.
        address: u32,
        /// How long it is; `None` for dynamic shared memory, which is what follows there.
        bytes: Option<u64>,
    },
    /// A variable of a function in local memory.
    Local {
        /// Its name.
        name: Arc<str>,
        /// Where it begins among the variables of the function.
        start: u32,
        /// How long it is.
        bytes: u64,
    },
    /// A variable in device memory.
    Global {
        /// Its name.
        name: Arc<str>,
        /// Its address.
        address: u64,
    },
    /// A parameter of the kernel.
    Parameter {
        /// Its name.
        name: Arc<str>,
        /// Where it is among the parameters.
        offset: u32,
    },
}
