//! Whether the vectors of texture and surface instructions are as long as their geometry and their results ask for, as ptxas 13.0 has it.

use cuda_ptx::{Operand, Type};

use super::forms::Role;
use super::names::{NameKind, Names};
use super::operands::{dest, is_float, is_integer, predicate, register};
use super::vectors::{Elements, counted};

/// Checks the operands of `tex`, `tld4`, `suld`, `sust` and `sured` whose name has a form.
pub(super) fn check(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let parts: Vec<&str> = name.split('.').collect();
    let mnemonic = parts.first().copied().unwrap_or_default();
    let is_texture = matches!(mnemonic, "tex" | "tld4");
    let place = usize::from(is_texture || mnemonic == "suld");
    let geometry = parts.iter().find_map(|part| Some((*part, coordinates(part)?)));
    if let (Some(operand), Some((geometry, least))) = (operands.get(place), geometry) {
        let by = match is_texture {
            true => parts.iter().rev().find_map(|part| Type::from_name(part)),
            false => None,
        };
        object(operand, geometry, least, by, names)
            .map_err(|message| format!("operand {}: {message}", place + 1))?;
        if is_texture {
            gradients(&parts, operands, geometry, names)?;
            offsets(&parts, operands, geometry)?;
        }
    }
    match mnemonic {
        "tex" | "tld4" => results(&parts, operands, names),
        "suld" => texels(&parts, 0, operands, names),
        "sust" => texels(&parts, 1, operands, names),
        _ => Ok(()),
    }
}

/// The shortest vector of coordinates of a geometry. What has more elements than it needs is taken.
fn coordinates(geometry: &str) -> Option<usize> {
    match geometry {
        "1d" => Some(1),
        "2d" | "a1d" => Some(2),
        "3d" | "a2d" | "cube" | "acube" => Some(4),
        _ => None,
    }
}

/// The shortest vector with a number for each dimension; cubes take no such offsets, and gradients of any length.
fn dimensions(geometry: &str) -> Option<usize> {
    match geometry {
        "1d" | "a1d" => Some(1),
        "2d" | "a2d" => Some(2),
        "3d" => Some(4),
        _ => None,
    }
}

/// A vector where there may be one: of a length that vectors have, and no shorter than so many.
fn long_enough(list: &[Operand<'_>], least: usize) -> Result<(), String> {
    match list.len() {
        found @ (1 | 2 | 4 | 8) if found >= least => Ok(()),
        found => Err(format!("{} found, and {least} expected", counted(found, "element"))),
    }
}

/// `[object, {sampler,} coordinates]`, the latter `by` a type, or of texels where there is none.
fn object(
    operand: &Operand<'_>,
    geometry: &str,
    least: usize,
    by: Option<Type>,
    names: &Names<'_>,
) -> Result<(), String> {
    let is_texture = by.is_some();
    let (objects, place) = match operand {
        Operand::AddressList(list) => match list.as_slice() {
            [objects @ .., place] if objects.len() == 1 || is_texture && objects.len() == 2 => {
                (objects, place)
            }
            _ => return Err("an object and coordinates are expected in brackets".to_owned()),
        },
        _ => return Err("an object and coordinates are expected in brackets".to_owned()),
    };
    for object in objects {
        match register(names, object) {
            Some(ty) if ty.size() != 8 || is_float(ty) => {
                return Err(format!("an object is in a register of 64 bits, and this one is {ty}"));
            }
            _ => {}
        }
    }
    let Operand::Vector(list) = place else { return Ok(()) };
    long_enough(list, least)?;
    let is_layered = geometry.starts_with('a');
    for (at, element) in list.iter().enumerate() {
        let whole = at == 0 && is_layered;
        match register(names, element) {
            Some(ty) if ty.size() != 4 || ty == Type::Pred || whole && is_float(ty) => {
                return Err(format!("a coordinate is {ty}"));
            }
            _ => {}
        }
    }
    // In front of the coordinates in a layer stands its number; ptxas looks at the others less closely.
    let own = list.get(usize::from(is_layered)..).unwrap_or_default();
    match Elements::of(names, own)? {
        Some(elements) if !is_layered && !are_coordinates(elements, by) => match elements {
            Elements::Registers(ty) => Err(format!("a coordinate is {ty}")),
            elements => Err(format!("{} are no coordinates here", elements.describe())),
        },
        _ => Ok(()),
    }
}

/// Whether these can be coordinates `by` that type.
fn are_coordinates(elements: Elements, by: Option<Type>) -> bool {
    let by_floats = by == Some(Type::F32);
    match elements {
        Elements::Bits => true,
        Elements::Registers(ty) => is_integer(ty) || by_floats && ty == Type::F32,
        Elements::Integers => !by_floats,
        Elements::Singles | Elements::Doubles => by_floats,
    }
}

/// `tex.grad` has two vectors behind the coordinates.
fn gradients(
    parts: &[&str],
    operands: &[Operand<'_>],
    geometry: &str,
    names: &Names<'_>,
) -> Result<(), String> {
    if !parts.contains(&"grad") {
        return Ok(());
    }
    for at in [2, 3] {
        match operands.get(at) {
            Some(Operand::Vector(list)) => {
                let least = dimensions(geometry).unwrap_or(1);
                long_enough(list, least)
                    .and_then(|()| match Elements::of(names, list)? {
                        Some(Elements::Integers) => {
                            Err("a gradient is a number without a fraction".to_owned())
                        }
                        Some(Elements::Registers(ty)) if ty != Type::F32 => {
                            Err(format!("a gradient is {ty}"))
                        }
                        _ => Ok(()),
                    })
                    .map_err(|message| format!("operand {}: {message}", at + 1))?;
            }
            _ => return Err(format!("operand {}: a vector is expected", at + 1)),
        }
    }
    Ok(())
}

/// The offsets in texels are as many as the geometry has dimensions.
fn offsets(parts: &[&str], operands: &[Operand<'_>], geometry: &str) -> Result<(), String> {
    let Some(least) = dimensions(geometry) else { return Ok(()) };
    let before = if parts.contains(&"grad") { 4 } else { 2 + usize::from(parts.contains(&"level")) };
    match operands.get(before) {
        Some(Operand::Vector(list)) => {
            long_enough(list, least).map_err(|message| format!("operand {}: {message}", before + 1))
        }
        _ => Ok(()),
    }
}

/// What a texture gives: four values or two pairs of halves, and whether they are resident.
fn results(parts: &[&str], operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let operand = match operands.first() {
        Some(Operand::Pair(vector, resident)) => {
            predicate(names, resident, Role::PredicateDest)?;
            &**vector
        }
        Some(operand) => operand,
        None => return Ok(()),
    };
    let count = if parts.contains(&"v2") { 2 } else { 4 };
    let ty = parts.iter().find_map(|part| Type::from_name(part));
    elements(
        operand,
        Some(count),
        "operand 1",
        &|part| match (part, ty) {
            (Operand::Name("_"), _) => Ok(()),
            (part, Some(ty @ (Type::F32 | Type::U32 | Type::S32))) => dest(names, part, ty, false),
            (part, _) => is_register(names, part),
        },
        names,
    )
}

/// What a surface gives or takes: as many as the name says, which without a vector's length is not looked at.
fn texels(parts: &[&str], at: usize, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let Some(operand) = operands.get(at) else { return Ok(()) };
    let count = match parts.iter().find(|part| matches!(**part, "v2" | "v4")) {
        Some(&"v2") => Some(2),
        Some(_) => Some(4),
        None => None,
    };
    let size = parts.iter().find_map(|part| Type::from_name(part)).map_or(1, Type::size);
    let wide_enough = |part: &Operand<'_>| match register(names, part) {
        Some(ty) if ty.size() < size || ty == Type::Pred => Err(format!("a texel is {ty}")),
        _ => Ok(()),
    };
    elements(operand, count, &format!("operand {}", at + 1), &wide_enough, names)
}

fn is_register(names: &Names<'_>, part: &Operand<'_>) -> Result<(), String> {
    match register(names, part) {
        Some(ty) if ty != Type::Pred => Ok(()),
        _ => Err("a register is expected".to_owned()),
    }
}

/// Calls `each` for the elements of a vector, `count` of them if that is known; a register may be a vector itself.
fn elements(
    operand: &Operand<'_>,
    count: Option<usize>,
    place: &str,
    each: &dyn Fn(&Operand<'_>) -> Result<(), String>,
    names: &Names<'_>,
) -> Result<(), String> {
    match (operand, count) {
        (Operand::Vector(list), Some(count)) if list.len() != count => {
            Err(format!("{place}: {} expected, {} found", counted(count, "element"), list.len()))
        }
        (Operand::Vector(list), _) => {
            long_enough(list, 1).map_err(|message| format!("{place}: {message}"))?;
            list.iter().try_for_each(each).map_err(|message| format!("{place}: {message}"))
        }
        (Operand::Name(name), Some(count)) => match names.find(name) {
            Some(NameKind::Register { elements, .. }) if *elements as usize == count => Ok(()),
            _ => Err(format!("{place}: a vector of {} is expected", counted(count, "element"))),
        },
        _ => Ok(()),
    }
}
