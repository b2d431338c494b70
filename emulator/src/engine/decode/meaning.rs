//! What an instruction means for values and addresses, in kernels that are watched.

use super::super::watch::{Base, LocalAccess, Rule};

/// What the last draft of an instruction means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    /// How undefined values go through it, or what they must not decide.
    pub(super) rule: Rule,
    /// What its guard decides beside the values of registers, in the words of findings.
    pub(super) decides: Option<&'static str>,
    /// Whether its result is an address if an operand is.
    pub(super) pointer: Pointer,
    /// The variable or parameter that its operands name.
    pub(super) base: Option<Base>,
    /// Its access to memory that may be local.
    pub(super) local: Option<LocalAccess>,
}

/// Which operands of an instruction an address goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pointer {
    /// None: its result is another number.
    #[default]
    None,
    /// It is a sum, of which one part may be an address.
    Sum,
    /// It is a product and an address, which comes last.
    Last,
}
