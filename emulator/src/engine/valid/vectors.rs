//! What the elements of a vector are together. As in ptxas 13.0, registers of bits make bits of everything, a predicate beside them being 32 of
//! them, and all others have the same type.

use cuda_ptx::{Literal, Operand, Type};

use super::names::Names;
use super::operands::{fits, is_bits, is_integer, is_number, not_a, number_fits, register, special_register};

/// Whether a vector is read or written: numbers are only read, and `_` stands for what is not kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Written,
}

/// The elements of a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// Registers of that type, which is one of bits if one of them has such a type, and numbers that go with it.
    Registers(Type),
    /// Nothing but numbers.
    Integers,
    Singles,
    Doubles,
}

impl Elements {
    pub(super) fn of<'o, 'a: 'o>(
        names: &Names<'_>,
        list: impl IntoIterator<Item = &'o Operand<'a>>,
        access: Access,
    ) -> Result<Elements, String> {
        let mut all: Option<Elements> = None;
        for operand in list {
            let Some(next) = Elements::of_one(names, operand, access)? else { continue };
            all = Some(match all {
                Some(before) => before.with(next)?,
                None => next,
            });
        }
        all.ok_or_else(|| "a register is expected among the elements".to_owned())
    }

    /// Refuses elements that are not of a type, or wider than it if they may be.
    pub(super) fn expect(
        names: &Names<'_>,
        list: &[Operand<'_>],
        access: Access,
        (ty, wide): (Type, bool),
    ) -> Result<(), String> {
        let elements = Elements::of(names, list, access)?;
        let is_right = match elements {
            Elements::Registers(found) => fits(ty, found, wide),
            Elements::Integers => number_fits(ty, Literal::Int(0)),
            Elements::Singles => number_fits(ty, Literal::F32(0)),
            Elements::Doubles => number_fits(ty, Literal::F64(0)),
        };
        match is_right {
            true => Ok(()),
            false => Err(format!("the elements are {}, and {ty} is expected", elements.describe())),
        }
    }

    /// `None` for what is not kept.
    fn of_one(names: &Names<'_>, operand: &Operand<'_>, access: Access) -> Result<Option<Elements>, String> {
        let written = access == Access::Written;
        Ok(Some(match operand {
            Operand::Name("_") if written => return Ok(None),
            Operand::Literal(_) if written => return Err(not_a(operand, "a register")),
            Operand::Literal(Literal::Int(_)) => Elements::Integers,
            Operand::Literal(Literal::F32(_)) => Elements::Singles,
            Operand::Literal(Literal::F64(_)) => Elements::Doubles,
            Operand::Name(name) if !written && is_number(name) => Elements::Integers,
            operand => {
                let special = || match operand {
                    Operand::Name(name) if !written && names.find(name).is_none() => special_register(name),
                    _ => None,
                };
                let ty = register(names, operand).or_else(special);
                Elements::Registers(ty.ok_or_else(|| not_a(operand, "a register"))?)
            }
        }))
    }

    fn with(self, next: Elements) -> Result<Elements, String> {
        use Elements as E;
        let takes_fractions = |ty: Type| is_bits(ty) || matches!(ty, Type::F16 | Type::F32 | Type::F64);
        match (self, next) {
            (E::Registers(a), E::Registers(b)) if bytes(a) != bytes(b) => {
                Err("registers of different sizes".to_owned())
            }
            (E::Registers(a), E::Registers(b)) if is_bits(a) || a == b || is_integer(a) && is_integer(b) => {
                Ok(self)
            }
            (E::Registers(_), E::Registers(b)) if is_bits(b) => Ok(next),
            (E::Registers(_), E::Registers(_)) => Err("registers of different types".to_owned()),
            (E::Registers(ty), E::Integers) | (E::Integers, E::Registers(ty))
                if is_bits(ty) || is_integer(ty) =>
            {
                Ok(E::Registers(ty))
            }
            (E::Registers(ty), E::Singles | E::Doubles) | (E::Singles | E::Doubles, E::Registers(ty))
                if takes_fractions(ty) =>
            {
                Ok(E::Registers(ty))
            }
            (E::Integers, E::Integers) => Ok(self),
            (E::Singles | E::Doubles, E::Singles | E::Doubles) => Ok(next),
            _ => Err("elements of different types".to_owned()),
        }
    }

    /// The size of its registers; `None` where only numbers are known.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Elements::Registers(ty) => Some(bytes(ty)),
            _ => None,
        }
    }

    /// How they are called in a message.
    pub(super) fn describe(self) -> String {
        match self {
            Elements::Registers(ty) if is_bits(ty) => "registers of bits".to_owned(),
            Elements::Registers(ty) => format!("registers of type {ty}"),
            Elements::Integers => "numbers without a fraction".to_owned(),
            Elements::Singles => "numbers of type .f32".to_owned(),
            Elements::Doubles => "numbers of type .f64".to_owned(),
        }
    }
}

/// The size of a register in a vector, where a predicate has 32 bits.
fn bytes(ty: Type) -> usize {
    if ty == Type::Pred { 4 } else { ty.size() }
}

/// A number of things, in English: `1 register`, `2 registers`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
