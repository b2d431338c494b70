//! The effect of an instruction on values and addresses, in watched kernels.

use super::super::watch::{Base, LocalAccess, Rule};

/// The effect of the last draft of an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    /// How undefined values propagate through it, or what must not depend on them.
    pub(super) rule: Rule,
    /// What its guard decides besides the values of registers, in the wording of findings.
    pub(super) decides: Option<&'static str>,
    /// Whether its result is an address if an operand is.
    pub(super) pointer: Pointer,
    /// The variable or parameter that its operands name.
    pub(super) base: Option<Base>,
    /// Its access to memory that may be local.
    pub(super) local: Option<LocalAccess>,
}

/// Through which operands of an instruction an address propagates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pointer {
    /// None: its result is another number.
    #[default]
    None,
    /// It is a sum, of which one part may be an address.
    Sum,
    /// It is a product plus an address, which is the last operand.
    Last,
}
