//! The vectors of matrix instructions: how many registers, and of what kind.

use cuda_ptx::{Literal, Operand, Type};

use super::names::{NameKind, Names};
use super::operands::{is_bits, is_integer, register};
use super::vectors::{Access, Elements, counted};

/// Which types the registers of a vector may have together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Bits, and this type.
    Itself(Type),
    Bits,
    Integers,
    /// Of this size.
    Bytes(usize),
}

impl Takes {
    /// Whether these elements go together with it, apart from their size.
    fn these(self, elements: Elements) -> bool {
        match (self, elements) {
            (Takes::Bytes(8), _) => true,
            (_, Elements::Registers(found)) if is_bits(found) => true,
            (Takes::Itself(ty), Elements::Registers(found)) => ty == found,
            (Takes::Integers, Elements::Registers(found)) => is_integer(found),
            (Takes::Bytes(_), Elements::Registers(_)) | (Takes::Integers, Elements::Integers) => true,
            (Takes::Itself(ty), Elements::Singles) => ty == Type::F32,
            _ => false,
        }
    }
}

/// A vector: how many registers, and of what kind.
#[derive(Clone, Copy)]
pub(super) struct VectorOperand {
    pub(super) count: usize,
    pub(super) takes: Takes,
}

/// A vector of registers: as many as are wanted, of types that go together.
pub(super) fn vector(
    names: &Names<'_>,
    at: usize,
    operand: &Operand<'_>,
    (wanted, access): (VectorOperand, Access),
) -> Result<(), String> {
    let (at, count) = (at + 1, wanted.count);
    let expected = || format!("operand {at}: a vector of {} is expected", counted(count, "register"));
    let list = match operand {
        Operand::Vector(list) => list.as_slice(),
        Operand::Name(name) => match names.find(name) {
            Some(NameKind::Register { elements, .. }) if *elements > 1 && *elements as usize == count => {
                return Ok(());
            }
            _ => return Err(expected()),
        },
        _ => return Err(expected()),
    };
    if list.len() != count {
        return Err(format!("operand {at}: {} expected, {} found", counted(count, "register"), list.len()));
    }
    let elements = Elements::of(names, list, access).map_err(|message| format!("operand {at}: {message}"))?;
    let size = if let Takes::Bytes(bytes) = wanted.takes { bytes } else { 4 };
    match elements {
        found if found.bytes().is_some_and(|bytes| bytes != size) => {
            Err(format!("operand {at}: registers of {} bits are expected", 8 * size))
        }
        found if !wanted.takes.these(found) => {
            Err(format!("operand {at}: {} are not expected", found.describe()))
        }
        _ => Ok(()),
    }
}

/// Refuses numbers like `1.5`.
pub(super) fn no_doubles(at: usize, operand: &Operand<'_>) -> Result<(), String> {
    match operand {
        Operand::Vector(list)
            if list.iter().any(|part| matches!(part, Operand::Literal(Literal::F64(_)))) =>
        {
            Err(format!("operand {}: a number of type .f64 is not expected", at + 1))
        }
        _ => Ok(()),
    }
}

/// Refuses predicates.
pub(super) fn no_predicates(names: &Names<'_>, at: usize, operand: &Operand<'_>) -> Result<(), String> {
    match operand {
        Operand::Vector(list) if list.iter().any(|part| register(names, part) == Some(Type::Pred)) => {
            Err(format!("operand {}: a predicate is not expected", at + 1))
        }
        _ => Ok(()),
    }
}
