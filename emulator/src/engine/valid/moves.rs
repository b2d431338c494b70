//! `mov`, whose operands are of many kinds.

use cuda_ptx::{Literal, Operand, Space, Type};

use super::forms::Role;
use super::names::{NameKind, Names};
use super::operands::{dest, is_float, is_special, predicate, register, source, special_fits};
use super::vectors::{Access, Elements, counted};

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
        return [(to, Access::Written), (from, Access::Read)].into_iter().try_for_each(|(side, access)| {
            match side {
                Operand::Vector(list) => Elements::expect(names, list, access, (ty, false)),
                _ => Ok(()),
            }
        });
    }
    if ty == Type::Pred {
        // ptxas takes packed registers, too.
        let packed = |operand| register(names, operand) == Some(Type::F16x2);
        if !packed(to) {
            predicate(names, to, Role::PredicateDest)?;
        }
        return if packed(from) { Ok(()) } else { predicate(names, from, Role::Predicate) };
    }
    match (parts(to, names), parts(from, names)) {
        (Some(_), Some(_)) => Err("both sides are vectors".to_owned()),
        (Some(list), None) => {
            if let Parts::Listed(list) = list
                && list.iter().any(|part| matches!(part, Operand::Literal(_)))
            {
                return Err("a number cannot be written to".to_owned());
            }
            packed(&list, names, ty, Access::Written)?;
            value(from, names, ty)
        }
        (None, Some(list)) => {
            packed(&list, names, ty, Access::Read)?;
            dest(names, to, ty, false)
        }
        (None, None) => {
            dest(names, to, ty, false)?;
            value(from, names, ty)
        }
    }
}

/// What is copied as a whole: also a special register, and the address of what has a name.
fn value(from: &Operand<'_>, names: &Names<'_>, ty: Type) -> Result<(), String> {
    match from {
        Operand::Name(name) if names.find(name).is_none() && !special_fits(name, ty) => {
            Err(format!("the special register `{name}` is not {ty}"))
        }
        Operand::Name(name) if addressable(names, name) => named(names, name, ty),
        Operand::Indexed(name, _) | Operand::IndexedBy { array: name, .. } => named(names, name, ty),
        _ => source(names, from, ty, false, true),
    }
}

/// The address of what has that name, or of an element of it.
fn named(names: &Names<'_>, name: &str, ty: Type) -> Result<(), String> {
    match names.find(name) {
        Some(NameKind::Function) => Ok(()),
        _ if is_float(ty) => Err(format!("the address of `{name}` is not {ty}")),
        // ptxas does not ask for it behind a sum.
        Some(NameKind::Variable { space: Space::Global, .. }) if ty.size() == 4 => {
            Err(format!("the address of `{name}` in .global has 64 bits"))
        }
        _ => Ok(()),
    }
}

/// `isspacep`: the address is a number, that of a name with a number added, or in a register of any integers.
pub(super) fn of_unknown_space(operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let Some(address) = operands.get(1) else { return Ok(()) };
    let is_address = match address {
        Operand::Literal(Literal::Int(_)) | Operand::Name("WARP_SZ") => true,
        Operand::Offset(name, _) => match register(names, &Operand::Name(name)) {
            Some(ty) => is_wide_enough(ty),
            None => !matches!(names.find(name), Some(NameKind::Function)),
        },
        operand => register(names, operand).is_some_and(is_wide_enough),
    };
    if is_address { Ok(()) } else { Err("operand 2: a register of 32 or 64 bits is expected".to_owned()) }
}

fn is_wide_enough(ty: Type) -> bool {
    matches!(ty.size(), 4 | 8) && !is_float(ty)
}

/// The parts of a register.
enum Parts<'o, 'a> {
    Listed(&'o [Operand<'a>]),
    /// A register that is a vector: the type of its elements, and how many they are.
    Vector(Type, usize),
}

/// The parts of `{a, b}`, or of a vector; not of `{a}`, which is `a`.
fn parts<'o, 'a>(operand: &'o Operand<'a>, names: &Names<'_>) -> Option<Parts<'o, 'a>> {
    match operand {
        Operand::Vector(list) if list.len() > 1 => Some(Parts::Listed(list)),
        Operand::Name(name) => match names.find(name)? {
            NameKind::Register { ty, elements } if *elements > 1 => {
                Some(Parts::Vector(*ty, *elements as usize))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether the parts of a register of type `ty` are as wide as it together.
fn packed(parts: &Parts<'_, '_>, names: &Names<'_>, ty: Type, access: Access) -> Result<(), String> {
    let (count, bytes) = match parts {
        Parts::Listed(list) => {
            // ptxas takes halves of 32 bits that are left out also where they are read.
            let left_out = |part: &&Operand<'_>| ty == Type::B32 && **part == Operand::Name("_");
            let known = list.iter().filter(|part| !left_out(part));
            (list.len(), Elements::of(names, known, access)?.bytes())
        }
        Parts::Vector(part, elements) => (*elements, Some(part.size())),
    };
    let is_whole = bytes.is_none_or(|bytes| bytes * count == ty.size());
    if is_whole && matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128) {
        return Ok(());
    }
    Err(format!("a vector of {} is not as wide as {ty}", counted(count, "register")))
}

/// Whether `mov` takes the address of what has that name.
fn addressable(names: &Names<'_>, name: &str) -> bool {
    matches!(names.find(name), Some(NameKind::Variable { .. } | NameKind::Param { .. } | NameKind::Function))
}
