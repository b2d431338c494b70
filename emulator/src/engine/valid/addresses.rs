//! Whether an operand is an address, in brackets or as a number.

use cuda_ptx::{Operand, Space, Type};

use super::names::{NameKind, Names};
use super::operands::{is_bits, is_integer, not_a, register, source, wrong_type};

/// Which registers hold addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Of 64 bits, and of 32 where the space is not the generic one or `.global`; ptxas takes those of 8 and 16 bits anywhere.
    BySpace,
    /// Of 32 or 64 bits.
    Four,
    /// Of 8, 16, 32 or 64 bits.
    Two,
    /// Of 8, 32 or 64 bits.
    NotTwo,
    /// Of 64 bits.
    Eight,
}

impl Width {
    fn has(self, ty: Type, space: Option<Space>) -> bool {
        (is_bits(ty) || is_integer(ty))
            && match (ty.size(), self) {
                (8, _) => true,
                (_, Width::Eight) => false,
                (4, Width::BySpace) => !matches!(space, None | Some(Space::Global)),
                (4, _) => true,
                (1, width) => width != Width::Four,
                (2, width) => !matches!(width, Width::Four | Width::NotTwo),
                _ => false,
            }
    }
}

/// An address in that space; `None` is the generic one.
pub(super) fn address(
    names: &Names<'_>,
    operand: &Operand<'_>,
    space: Option<Space>,
    width: Width,
) -> Result<(), String> {
    match operand {
        Operand::Address { base, .. } => place(names, base, space, width),
        Operand::Indexed(array, _) | Operand::IndexedBy { array, .. } => {
            place(names, &Operand::Name(array), space, width)
        }
        operand => Err(not_a(operand, "an address in brackets")),
    }
}

/// What an address is made of: a register or a variable.
pub(super) fn place(
    names: &Names<'_>,
    base: &Operand<'_>,
    space: Option<Space>,
    width: Width,
) -> Result<(), String> {
    if let Some(found) = register(names, base) {
        return match width.has(found, space) {
            true => Ok(()),
            false => Err(wrong_type(base, found, "an address of 64 bits")),
        };
    }
    let name = match base {
        Operand::Name(name) => name,
        Operand::Literal(_) if space == Some(Space::Local) => return Ok(()),
        base => return Err(not_a(base, "a register or a variable")),
    };
    match (names.find(name), space) {
        (Some(NameKind::Variable { space: of, .. }), Some(space)) if *of == space => Ok(()),
        (Some(NameKind::Variable { space: Space::Global | Space::Shared | Space::Local, .. }), None) => {
            Ok(())
        }
        (Some(NameKind::Param { .. }), Some(Space::Param)) => Ok(()),
        (Some(NameKind::Variable { space: of, .. }), _) => {
            Err(format!("`{name}` lies in {of}, which the instruction does not access"))
        }
        (Some(NameKind::Param { .. }), _) => {
            Err(format!("`{name}` is a parameter, which only .param accesses"))
        }
        _ => Err(not_a(base, "a register or a variable")),
    }
}

/// Refuses stores to the parameters of a kernel.
pub(super) fn writable(names: &Names<'_>, operand: &Operand<'_>) -> Result<(), String> {
    let base = match operand {
        Operand::Address { base, .. } => &**base,
        operand => operand,
    };
    match base {
        Operand::Name(name) | Operand::Indexed(name, _) | Operand::IndexedBy { array: name, .. }
            if matches!(names.find(name), Some(NameKind::Param { of_kernel: true, .. })) =>
        {
            Err(format!("the kernel's parameter `{name}` is only read"))
        }
        _ => Ok(()),
    }
}

/// The number that an address of that type is, in a register or written out, or the address of a variable in that space.
pub(super) fn pointer(
    names: &Names<'_>,
    operand: &Operand<'_>,
    space: Option<Space>,
    ty: Type,
) -> Result<(), String> {
    match operand {
        Operand::Literal(_) => source(names, operand, ty, false, false),
        Operand::Name(name)
        | Operand::Offset(name, _)
        | Operand::Indexed(name, _)
        | Operand::IndexedBy { array: name, .. } => {
            let base = Operand::Name(name);
            match register(names, &base) {
                Some(_) => source(names, operand, ty, false, false),
                None => place(names, &base, space, Width::BySpace),
            }
        }
        operand => source(names, operand, ty, false, false),
    }
}
