//! Whether the operands of an instruction are what a row of the table wants.

use cuda_ptx::{Literal, Operand, Space, Type};

use super::super::table::Form;
use super::addresses::{address, pointer, writable};
use super::forms::{Role, Row, Slot, Typed};
use super::names::{NameKind, Names};
use super::operands::{
    dest, fits, is_bits, is_integer, not_a, predicate, register, selected, source, wrong_type,
};
use super::tensors;
use super::vectors::{Access, Elements, counted};

/// Checks the operands against those of a row.
pub(super) fn matches(
    row: &Row,
    form: &Form<'_>,
    operands: &[Operand<'_>],
    names: &Names<'_>,
    name: &str,
) -> Result<(), String> {
    let hinted = form.has("L2::cache_hint");
    let slots = || row.slots.iter().filter(|slot| slot.role != Role::Policy || hinted);
    let (least, most) = (slots().filter(|slot| !slot.optional).count(), slots().count());
    if operands.len() < least || operands.len() > most {
        let least = if least == most { String::new() } else { format!("{least} to ") };
        return Err(format!("{least}{} expected, {} found", counted(most, "operand"), operands.len()));
    }
    for (index, (slot, operand)) in slots().zip(operands).enumerate() {
        one(*slot, form, operand, names, name)
            .map_err(|message| format!("operand {}: {message}", index + 1))?;
    }
    Ok(())
}

fn one(
    slot: Slot,
    form: &Form<'_>,
    operand: &Operand<'_>,
    names: &Names<'_>,
    name: &str,
) -> Result<(), String> {
    let ty = match slot.typed {
        Typed::First => form.ty(),
        Typed::Last => form.source_ty(),
        Typed::Double => double(form.ty()),
        Typed::As(ty) => ty,
        Typed::In(_) => Type::B64,
    };
    // Without a space in the name what arrives at a barrier reaches shared memory only, whose addresses fit into 32 bits.
    let space = match slot.typed {
        Typed::In(space) => Some(space),
        _ => space(form).or(name.contains(".async").then_some(Space::Shared)),
    };
    let operand = match operand {
        Operand::Pair(first, second) if slot.pair => {
            if **second != Operand::Name("_") || name.starts_with("elect") {
                predicate(names, second, Role::PredicateDest)?;
            }
            &**first
        }
        operand => operand,
    };
    let discards = *operand == Operand::Name("_");
    // ptxas counts a packed register among the integers only where the name of the instruction has the type.
    if matches!(slot.typed, Typed::As(ty) if is_integer(ty)) && register(names, operand) == Some(Type::F16x2)
    {
        return Err(wrong_type(operand, Type::F16x2, "an integer"));
    }
    match slot.role {
        Role::Anything if discards && name.starts_with('v') => Err("a value is expected".to_owned()),
        Role::Anything => Ok(()),
        Role::Elements => elements(form, operand, names, (ty, false), Access::Written),
        // ptxas also takes a value where the name has a length, and without it a vector, but not of bits.
        Role::ElementSources if name.starts_with("st.async") => match (operand, vector_length(form)) {
            (Operand::Vector(list), None) if !is_bits(ty) => {
                Elements::expect(names, list, Access::Read, (ty, false))
            }
            (Operand::Vector(_), Some(_)) => elements(form, operand, names, (ty, false), Access::Read),
            _ => source(names, operand, ty, false, false),
        },
        Role::ElementSources => elements(form, operand, names, (ty, false), Access::Read),
        Role::WideDest => elements(form, operand, names, (ty, true), Access::Written),
        // Only vectors are elements, and of `cvt` none.
        Role::WideSource if name.starts_with("cvt") => source(names, operand, ty, true, true),
        Role::WideSource => elements(form, operand, names, (ty, true), Access::Read),
        Role::Four => match operand {
            Operand::Vector(list) if list.len() == 4 => {
                Elements::expect(names, list, Access::Read, (ty, false))
            }
            _ => Err("a vector of 4 values in braces is expected".to_owned()),
        },
        Role::Policy => source(names, operand, Type::U64, false, false),
        // What `atom` and comparisons give need not be taken.
        Role::Dest | Role::PredicateDest
            if discards
                && (name.starts_with("atom")
                    || name.starts_with("mbarrier.arrive")
                    || name.starts_with("lop3")
                    || slot.pair && !name.starts_with("shfl")) =>
        {
            Ok(())
        }
        Role::Dest if form.has("shared::cluster") && name.starts_with("mbarrier.arrive") => {
            Err("the state of a barrier elsewhere in the cluster is not given: `_` is expected".to_owned())
        }
        Role::Selected | Role::SelectedDest => selected(names, operand, slot.role),
        Role::Dest => dest(names, operand, ty, false),
        Role::PredicateDest | Role::Predicate if packed_predicate(form, operand, names, name, slot.role) => {
            Ok(())
        }
        Role::PredicateDest | Role::Predicate => predicate(names, operand, slot.role),
        Role::Source => source(names, operand, ty, false, name.starts_with("cvt")),
        Role::Address(width) => {
            if name.starts_with("st") {
                writable(names, operand)?;
            }
            address(names, operand, space, width)
        }
        Role::Shared => tensors::shared(names, operand),
        Role::Pointer => pointer(names, operand, space, form.ty()),
        Role::Anywhere => anywhere(names, operand),
        Role::Tensor => tensors::map(names, operand, form),
        Role::Offsets => tensors::offsets(names, operand, form),
        Role::Constant => match operand {
            Operand::Literal(Literal::Int(_)) => Ok(()),
            operand => Err(not_a(operand, "a number")),
        },
    }
}

/// Whether a packed register stands for a predicate, which ptxas takes where the name has that type, but for what `bar.red` reads.
fn packed_predicate(
    form: &Form<'_>,
    operand: &Operand<'_>,
    names: &Names<'_>,
    name: &str,
    role: Role,
) -> bool {
    let reads_at_barrier = role == Role::Predicate && name.starts_with("bar");
    form.has("pred") && !reads_at_barrier && register(names, operand) == Some(Type::F16x2)
}

/// An address in brackets that may be in whatever register of up to 64 bits, and in any space.
fn anywhere(names: &Names<'_>, operand: &Operand<'_>) -> Result<(), String> {
    match operand {
        Operand::Address { base, .. } if **base == Operand::Name("_") => Err(not_a(base, "an address")),
        Operand::Address { base, .. } if register(names, base) == Some(Type::B128) => {
            Err(wrong_type(base, Type::B128, "an address of 64 bits"))
        }
        Operand::Address { .. } => Ok(()),
        operand => Err(not_a(operand, "an address in brackets")),
    }
}

/// The space that an access names; `None` is the generic one.
fn space(form: &Form<'_>) -> Option<Space> {
    let spaces = [
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
        "param::func",
    ];
    form.any(&spaces).and_then(Space::from_name)
}

fn double(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        ty => ty,
    }
}

/// The elements that a name with a vector's length asks for.
fn vector_length(form: &Form<'_>) -> Option<usize> {
    form.any(&["v2", "v4", "v8"]).map(|length| match length {
        "v2" => 2,
        "v4" => 4,
        _ => 8,
    })
}

/// The elements of what is loaded or stored: as many as the name says, of a type, or wider if they may be.
fn elements(
    form: &Form<'_>,
    operand: &Operand<'_>,
    names: &Names<'_>,
    (ty, wide): (Type, bool),
    access: Access,
) -> Result<(), String> {
    let wanted = match (vector_length(form), access) {
        (Some(length), _) => length,
        (None, Access::Read) => return source(names, operand, ty, wide, false),
        (None, Access::Written) => return dest(names, operand, ty, wide),
    };
    match operand {
        Operand::Vector(list) if list.len() == wanted => Elements::expect(names, list, access, (ty, wide)),
        Operand::Vector(list) => Err(format!("{wanted} elements expected, {} found", list.len())),
        Operand::Name(name) => match names.find(name) {
            Some(NameKind::Register { ty: found, elements })
                if *elements as usize == wanted && fits(ty, *found, wide) =>
            {
                Ok(())
            }
            _ => Err(format!("`{name}` is not a vector of {wanted} elements of type {ty}")),
        },
        _ => Err(format!("a vector of {wanted} elements is expected")),
    }
}
