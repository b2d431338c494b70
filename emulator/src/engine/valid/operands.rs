//! Whether an operand is what its instruction wants.

use cuda_ptx::{Literal, Operand, Type};

use super::super::special::Special;
use super::forms::Role;
use super::names::{NameKind, Names};

/// What the ISA's rules of types distinguish.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Predicate,
    Bits,
    Integer,
    /// Two integers in a register of bits.
    Packed,
    Float,
}

fn kind(ty: Type) -> Kind {
    use Type as T;
    match ty {
        T::Pred => Kind::Predicate,
        T::B8 | T::B16 | T::B32 | T::B64 | T::B128 => Kind::Bits,
        T::U8 | T::U16 | T::U32 | T::U64 | T::S8 | T::S16 | T::S32 | T::S64 => Kind::Integer,
        T::U16x2 | T::S16x2 => Kind::Packed,
        _ => Kind::Float,
    }
}

/// Whether addresses cannot be of that type.
pub(super) fn is_float(ty: Type) -> bool {
    kind(ty) == Kind::Float
}

/// Whether it is a type of numbers without a fraction, and not of bits.
pub(super) fn is_integer(ty: Type) -> bool {
    kind(ty) == Kind::Integer
}

/// Whether it is a type of bits.
pub(super) fn is_bits(ty: Type) -> bool {
    kind(ty) == Kind::Bits
}

/// An operand of a video instruction: a register of 32 bits, perhaps with a selector; a number where it is read.
pub(super) fn selected(names: &Names<'_>, operand: &Operand<'_>, role: Role) -> Result<(), String> {
    let reads = role == Role::Selected;
    let name = match operand {
        Operand::Literal(Literal::Int(_)) if reads => return Ok(()),
        Operand::Negated(name) if reads => name,
        Operand::Name(name) => name,
        operand if reads => return source(names, operand, Type::B32, false, false),
        operand => return dest(names, operand, Type::B32, false),
    };
    match register(names, &Operand::Name(without_selector(names, name))) {
        Some(found) if fits(Type::U32, found, false) => Ok(()),
        Some(found) => Err(wrong_type(operand, found, "a register of 32 bits")),
        None => Err(not_a(operand, "a register of 32 bits")),
    }
}

/// Whether a register of type `register` goes with an instruction of type `wanted` ("Operand Type Checking"); `wide` where it may be
/// wider.
pub(super) fn fits(wanted: Type, register: Type, wide: bool) -> bool {
    let (want, have) = (kind(wanted), kind(register));
    let larger = wide && register.size() > wanted.size();
    if want == Kind::Predicate || have == Kind::Predicate {
        return want == have;
    }
    if register.size() != wanted.size() && !larger {
        return false;
    }
    match want {
        Kind::Bits => true,
        // ptxas counts a packed register among the integers.
        Kind::Integer => have != Kind::Float || register == Type::F16x2,
        Kind::Packed => have == Kind::Bits || register == Type::F16x2,
        // Tensor formats stand in registers of bits.
        _ => have == Kind::Bits || register == wanted,
    }
}

/// Whether a number can be a value of that type.
pub(super) fn number_fits(wanted: Type, literal: Literal) -> bool {
    match (kind(wanted), literal) {
        (Kind::Float, Literal::Int(_)) => false,
        (Kind::Float, _) => matches!(wanted, Type::F32 | Type::F64),
        (Kind::Packed, _) => false,
        (_, Literal::Int(_)) => true,
        (kind, Literal::F32(_)) => kind == Kind::Bits && wanted.size() == 4,
        (kind, Literal::F64(_)) => kind == Kind::Bits && wanted.size() == 8,
    }
}

/// Numbers with a name.
const NUMBERS: &[&str] = &["WARP_SZ"];

pub(super) fn is_number(name: &str) -> bool {
    NUMBERS.contains(&name)
}

/// Families of special registers of which the engine has no or only some.
const SPECIALS: &[&str] = &[
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%pm",
    "%envreg",
    "%gridid",
    "%current_graph_exec",
];

/// Whether a special register has that name.
pub(super) fn is_special(name: &str) -> bool {
    let family = |family: &str| {
        name.strip_prefix(family).is_some_and(|rest| {
            let (number, last) = match family {
                "%pm" => (rest.strip_suffix("_64").unwrap_or(rest), 7),
                "%envreg" => (rest, 31),
                _ => return matches!(rest, "" | ".x" | ".y" | ".z" | ".w" | ".r" | ".g" | ".b" | ".a"),
            };
            number.bytes().all(|b| b.is_ascii_digit())
                && number.parse::<u32>().is_ok_and(|number| number <= last)
        })
    };
    Special::from_name(name).is_some() || SPECIALS.iter().any(|known| family(known))
}

/// Whether `mov` of that type reads a special register: those of 32 bits also in part, vectors not as a whole.
pub(super) fn special_fits(name: &str, ty: Type) -> bool {
    let wide = matches!(name, "%clock64" | "%globaltimer" | "%current_graph_exec") || name.ends_with("_64");
    let is_vector = matches!(
        name,
        "%tid"
            | "%ntid"
            | "%ctaid"
            | "%nctaid"
            | "%clusterid"
            | "%nclusterid"
            | "%cluster_ctaid"
            | "%cluster_nctaid"
    );
    match ty.size() {
        8 => wide || name == "%gridid",
        2 if ty == Type::B16 => false,
        2 | 4 => !wide && !is_vector && name != "%is_explicit_cluster",
        // It has no special register at all, or is told elsewhere.
        _ => true,
    }
}

/// The type of a special register that is no vector.
pub(super) fn special_register(name: &str) -> Option<Type> {
    [Type::U32, Type::U64].into_iter().find(|ty| is_special(name) && special_fits(name, *ty))
}

/// A register without the selector of a video instruction (`%r1.b0`, `%r1.h10`).
fn without_selector<'n>(names: &Names<'_>, name: &'n str) -> &'n str {
    match name.rsplit_once('.') {
        Some((register, selector))
            if selector
                .strip_prefix(['b', 'h'])
                .is_some_and(|parts| parts.chars().all(|c| c.is_ascii_digit()))
                && names.find(register).is_some() =>
        {
            register
        }
        _ => name,
    }
}

/// Refuses names in an operand that nothing declares.
pub(super) fn declared(names: &Names<'_>, operand: &Operand<'_>) -> Result<(), String> {
    let known = |name: &str| match names.find(without_selector(names, name)) {
        None if name != "_" && !NUMBERS.contains(&name) && !is_special(name) => {
            Err(format!("`{name}` is not declared"))
        }
        _ => Ok(()),
    };
    match operand {
        Operand::Name(name) | Operand::Not(name) | Operand::Negated(name) => known(name),
        Operand::Offset(name, _) | Operand::Indexed(name, _) | Operand::Element(name, _) => known(name),
        Operand::IndexedBy { array, register, .. } => known(array).and_then(|()| known(register)),
        Operand::Address { base, .. } => declared(names, base),
        Operand::AddressList(list) | Operand::Vector(list) | Operand::List(list) => {
            list.iter().try_for_each(|operand| declared(names, operand))
        }
        Operand::Pair(first, second) => declared(names, first).and_then(|()| declared(names, second)),
        _ => Ok(()),
    }
}

/// Refuses elements of what is no array, and indices that are no integers. Only some instructions take elements, and not in lists.
pub(super) fn elements_of_arrays(
    names: &Names<'_>,
    operands: &[Operand<'_>],
    allowed: bool,
) -> Result<(), String> {
    for operand in operands {
        match operand {
            Operand::Indexed(..) | Operand::IndexedBy { .. } if !allowed => {
                return Err(not_a(operand, "a register, a number or an address in brackets"));
            }
            Operand::Indexed(array, _) => is_array(names, array)?,
            Operand::IndexedBy { array, register: index, .. } => {
                is_array(names, array)?;
                let index = Operand::Name(index);
                match register(names, &index) {
                    // Of a shorter one `ptxas` leaves the upper bits undefined.
                    Some(ty)
                        if matches!(kind(ty), Kind::Bits | Kind::Integer) && matches!(ty.size(), 4 | 8) => {}
                    _ => return Err(not_a(&index, "a register of 32 or 64 bits with an index")),
                }
            }
            Operand::Vector(list) | Operand::List(list)
                if list.iter().any(|part| matches!(part, Operand::Offset(..))) =>
            {
                return Err("nothing is added to a register within a vector or a list".to_owned());
            }
            Operand::Vector(list) | Operand::List(list) | Operand::AddressList(list) => {
                elements_of_arrays(names, list, false)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_array(names: &Names<'_>, name: &str) -> Result<(), String> {
    match names.find(name) {
        Some(NameKind::Variable { array: true, .. } | NameKind::Param { array: Some(_), .. }) => Ok(()),
        _ => Err(format!("`{name}` is not an array")),
    }
}

/// The type of the register that an operand names.
pub(super) fn register(names: &Names<'_>, operand: &Operand<'_>) -> Option<Type> {
    match operand {
        Operand::Name(name) => match names.find(name)? {
            NameKind::Register { ty, elements: 1 } => Some(*ty),
            _ => None,
        },
        Operand::Element(name, index) => match names.find(name)? {
            NameKind::Register { ty, elements } if *elements > 1 && index < elements => Some(*ty),
            _ => None,
        },
        _ => None,
    }
}

/// How an operand is called in a message.
fn show(operand: &Operand<'_>) -> String {
    match operand {
        Operand::Name(name) => format!("`{name}`"),
        Operand::Not(name) => format!("`!{name}`"),
        Operand::Negated(name) => format!("`-{name}`"),
        Operand::Element(name, _) => format!("an element of `{name}`"),
        Operand::Offset(name, _) => format!("`{name}` with an offset"),
        Operand::Indexed(name, _) | Operand::IndexedBy { array: name, .. } => {
            format!("an element of `{name}`")
        }
        Operand::Literal(Literal::Int(number)) => format!("the number {number}"),
        Operand::Literal(_) => "a floating-point number".to_owned(),
        Operand::Address { .. } | Operand::AddressList(_) => "an address in brackets".to_owned(),
        Operand::Vector(_) => "a vector".to_owned(),
        Operand::Pair(..) => "a pair".to_owned(),
        _ => "a list".to_owned(),
    }
}

pub(super) fn wrong_type(operand: &Operand<'_>, found: Type, wanted: &str) -> String {
    format!("{} is {found}, and {wanted} is expected", show(operand))
}

pub(super) fn not_a(operand: &Operand<'_>, wanted: &str) -> String {
    format!("{} found where {wanted} is expected", show(operand))
}

/// An operand that is written.
pub(super) fn dest(names: &Names<'_>, operand: &Operand<'_>, ty: Type, wide: bool) -> Result<(), String> {
    let operand = single(operand);
    match register(names, operand) {
        Some(found) if fits(ty, found, wide) => Ok(()),
        Some(found) => Err(wrong_type(operand, found, &ty.to_string())),
        None => Err(not_a(operand, &format!("a register of type {ty}"))),
    }
}

/// `{a}` is `a`.
fn single<'o, 'a>(operand: &'o Operand<'a>) -> &'o Operand<'a> {
    match operand {
        Operand::Vector(list) => match list.as_slice() {
            [one] => one,
            _ => operand,
        },
        operand => operand,
    }
}

/// An operand that is read; `specials` where it may be a special register.
pub(super) fn source(
    names: &Names<'_>,
    operand: &Operand<'_>,
    ty: Type,
    wide: bool,
    specials: bool,
) -> Result<(), String> {
    let operand = single(operand);
    let wanted = || not_a(operand, &format!("a value of type {ty}"));
    match operand {
        Operand::Literal(literal) => number_fits(ty, *literal).then_some(()).ok_or_else(wanted),
        Operand::Name(name) if is_number(name) => {
            number_fits(ty, Literal::Int(0)).then_some(()).ok_or_else(wanted)
        }
        Operand::Name(name) if names.find(name).is_none() && is_special(name) => {
            let message = || format!("the special register `{name}` can only be read by `mov` and `cvt`");
            (specials && kind(ty) != Kind::Float).then_some(()).ok_or_else(message)
        }
        Operand::Offset(name, _) => sum(names, name, ty).unwrap_or_else(|| Err(wanted())),
        _ => match register(names, operand) {
            Some(found) if fits(ty, found, wide) => Ok(()),
            Some(found) => Err(wrong_type(operand, found, &ty.to_string())),
            None => Err(wanted()),
        },
    }
}

/// A register or an address and a number: ptxas compares no sizes here, and crashes over floats. `None` if nothing can be added to what has that name.
fn sum(names: &Names<'_>, name: &str, ty: Type) -> Option<Result<(), String>> {
    match names.find(name)? {
        NameKind::Register { ty: found, elements: 1 } => {
            let number = |ty: Type| matches!(kind(ty), Kind::Bits | Kind::Integer);
            Some(match number(*found) && number(ty) {
                true => Ok(()),
                false if *found == ty => Err(format!("nothing is added to `{name}`, which is {ty}")),
                false => Err(format!("`{name}` is {found}, and {ty} is expected")),
            })
        }
        NameKind::Function => Some(Err(format!("nothing is added to the address of the function `{name}`"))),
        NameKind::Variable { .. } | NameKind::Param { .. } => Some(match is_float(ty) {
            true => Err(format!("the address of `{name}` is not {ty}")),
            false => Ok(()),
        }),
        _ => None,
    }
}

/// A predicate, written or read.
pub(super) fn predicate(names: &Names<'_>, operand: &Operand<'_>, role: Role) -> Result<(), String> {
    let reads = role == Role::Predicate;
    let found = match operand {
        Operand::Literal(Literal::Int(_)) | Operand::Name("%is_explicit_cluster") if reads => return Ok(()),
        Operand::Not(name) if reads => register(names, &Operand::Name(name)),
        operand => register(names, operand),
    };
    match found {
        Some(Type::Pred) => Ok(()),
        Some(found) => Err(wrong_type(operand, found, "a predicate")),
        None => Err(not_a(operand, "a predicate")),
    }
}
