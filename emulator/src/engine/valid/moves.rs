//! `mov`, whose operands are of many kinds.

use cuda_ptx::{Operand, Space, Type};

use super::forms::Role;
use super::names::{NameKind, Names};
use super::operands::{dest, is_float, is_special, predicate, register, source, special_fits};

/// `mov`: of registers, numbers and addresses, and between a register and its parts.
pub(super) fn mov(operands: &[Operand<'_>], names: &Names<'_>, ty: Type, vector: u32) -> Result<(), String> {
    let [to, from] = operands else {
        return Err(format!("2 operands expected, {} found", operands.len()));
    };
    if vector > 1 {
        if matches!(to, Operand::Name(name) if names.find(name).is_none()) {
            return Err("a special register cannot be written to".to_owned());
        }
        let whole = |operand: &Operand<'_>| match operand {
            Operand::Vector(list) => list.len() == vector as usize,
            Operand::Name(name) => match names.find(name) {
                Some(NameKind::Register { elements, .. }) => *elements == vector,
                None => is_special(name) && !name.contains('.'),
                Some(_) => false,
            },
            _ => false,
        };
        if !whole(to) || !whole(from) {
            return Err(format!("a vector of {vector} elements is expected on both sides"));
        }
        if let Operand::Vector(list) = to {
            list.iter()
                .filter(|part| **part != Operand::Name("_"))
                .try_for_each(|part| dest(names, part, ty, false))?;
        }
        return match from {
            Operand::Vector(list) => list.iter().try_for_each(|part| source(names, part, ty, false, false)),
            _ => Ok(()),
        };
    }
    if ty == Type::Pred {
        predicate(names, to, Role::PredicateDest)?;
        return predicate(names, from, Role::Predicate);
    }
    match (parts(to), parts(from)) {
        (Some(list), _) => {
            if list.iter().all(|part| *part == Operand::Name("_")) {
                return Err("a register is expected among the parts".to_owned());
            }
            if list.iter().any(|part| matches!(part, Operand::Literal(_))) {
                return Err("a number cannot be written to".to_owned());
            }
            packed(list, names, ty)?;
            source(names, from, ty, false, true)
        }
        (None, Some(list)) => {
            packed(list, names, ty)?;
            dest(names, to, ty, false)
        }
        (None, None) => {
            dest(names, to, ty, false)?;
            if let Operand::Name(name) = from
                && names.find(name).is_none()
                && !special_fits(name, ty)
            {
                return Err(format!("the special register `{name}` is not {ty}"));
            }
            match from {
                Operand::Name(name) if addressable(names, name) => named(names, name, ty, true),
                Operand::Indexed(name, _) => named(names, name, ty, true),
                Operand::IndexedBy { .. } if !is_float(ty) => Ok(()),
                _ => source(names, from, ty, false, true),
            }
        }
    }
}

/// The address of what has that name; `whole` without a number added.
fn named(names: &Names<'_>, name: &str, ty: Type, whole: bool) -> Result<(), String> {
    match names.find(name) {
        Some(NameKind::Function) if !whole => {
            Err(format!("nothing is added to the address of the function `{name}`"))
        }
        Some(NameKind::Function) => Ok(()),
        _ if is_float(ty) => Err(format!("the address of `{name}` is not {ty}")),
        // ptxas asks for the whole address, but not of an element and not behind a sum.
        Some(NameKind::Variable { space: Space::Global, .. }) if whole && ty.size() == 4 => {
            Err(format!("the address of `{name}` in .global has 64 bits"))
        }
        _ => Ok(()),
    }
}

/// The parts of `{a, b}`; not of `{a}`, which is `a`.
fn parts<'o, 'a>(operand: &'o Operand<'a>) -> Option<&'o [Operand<'a>]> {
    match operand {
        Operand::Vector(list) if list.len() > 1 => Some(list),
        _ => None,
    }
}

/// Whether the parts of a register of type `ty` are as wide as it together.
fn packed(list: &[Operand<'_>], names: &Names<'_>, ty: Type) -> Result<(), String> {
    let bits = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128);
    let size = ty.size() / list.len().max(1);
    let fits = |operand: &Operand<'_>| match register(names, operand) {
        Some(part) => part != Type::Pred && part.size() == size,
        None => matches!(operand, Operand::Literal(_) | Operand::Name("_")),
    };
    if bits && list.iter().all(fits) {
        return Ok(());
    }
    Err(format!("a vector of {} registers is not as wide as {ty}", list.len()))
}

/// Whether `mov` takes the address of what has that name.
fn addressable(names: &Names<'_>, name: &str) -> bool {
    matches!(names.find(name), Some(NameKind::Variable { .. } | NameKind::Param { .. } | NameKind::Function))
}
