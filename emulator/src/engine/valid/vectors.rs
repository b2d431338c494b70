//! What the elements of a vector are together. As in ptxas 13.0, registers of bits make bits of everything, and all others have the same
//! type.

use cuda_ptx::{Literal, Operand, Type};

use super::names::Names;
use super::operands::{is_bits, is_integer, register};

/// The elements of a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Bits,
    /// Registers of that type, or of integers if it is one, and numbers that go with it.
    Registers(Type),
    /// Nothing but numbers.
    Integers,
    Singles,
    Doubles,
}

impl Elements {
    /// `None` where no element has a type.
    pub(super) fn of(names: &Names<'_>, list: &[Operand<'_>]) -> Result<Option<Elements>, String> {
        let mut known = list.iter().filter_map(|operand| Elements::of_one(names, operand));
        let Some(first) = known.next() else { return Ok(None) };
        known.try_fold(first, Elements::with).map(Some)
    }

    fn of_one(names: &Names<'_>, operand: &Operand<'_>) -> Option<Elements> {
        Some(match operand {
            Operand::Literal(Literal::Int(_)) => Elements::Integers,
            Operand::Literal(Literal::F32(_)) => Elements::Singles,
            Operand::Literal(Literal::F64(_)) => Elements::Doubles,
            operand => match register(names, operand)? {
                ty if is_bits(ty) => Elements::Bits,
                ty => Elements::Registers(ty),
            },
        })
    }

    fn with(self, next: Elements) -> Result<Elements, String> {
        use Elements as E;
        let is_float = |ty: Type| matches!(ty, Type::F32 | Type::F64);
        match (self, next) {
            (E::Bits, _) | (_, E::Bits) => Ok(E::Bits),
            (E::Registers(a), E::Registers(b)) if a == b || is_integer(a) && is_integer(b) => Ok(self),
            (E::Registers(_), E::Registers(_)) => Err("registers of different types".to_owned()),
            (E::Registers(ty), E::Integers) | (E::Integers, E::Registers(ty)) if is_integer(ty) => {
                Ok(E::Registers(ty))
            }
            (E::Registers(ty), E::Singles | E::Doubles) | (E::Singles | E::Doubles, E::Registers(ty))
                if is_float(ty) =>
            {
                Ok(E::Registers(ty))
            }
            (E::Integers, E::Integers) | (E::Singles, E::Singles) => Ok(self),
            (E::Singles | E::Doubles, E::Singles | E::Doubles) => Ok(E::Doubles),
            _ => Err("elements of different types".to_owned()),
        }
    }

    /// How they are called in a message.
    pub(super) fn describe(self) -> String {
        match self {
            Elements::Bits => "registers of bits".to_owned(),
            Elements::Registers(ty) => format!("registers of type {ty}"),
            Elements::Integers => "numbers without a fraction".to_owned(),
            Elements::Singles => "numbers of type .f32".to_owned(),
            Elements::Doubles => "numbers of type .f64".to_owned(),
        }
    }
}

/// A number of things, in English: `1 register`, `2 registers`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
