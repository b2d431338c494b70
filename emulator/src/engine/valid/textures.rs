//! Whether the vectors of texture and surface instructions are as long as their geometry and their results ask for, as ptxas 13.0 has it.

use cuda_ptx::{Operand, Space, Type};

use super::forms::Role;
use super::names::{NameKind, Names};
use super::operands::{fits, predicate, source};
use super::vectors::{Access, Elements, counted};

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
            offsets(&parts, operands, geometry, names)?;
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
    objects.iter().try_for_each(|object| handle(object, is_texture, names))?;
    let Operand::Vector(list) = place else { return Ok(()) };
    long_enough(list, least)?;
    // In front of the coordinates in a layer of a texture stands its number; ptxas looks at the others less closely.
    let is_layered = is_texture && geometry.starts_with('a');
    let (layer, own) = list.split_at(usize::from(is_layered).min(list.len()));
    if !layer.is_empty() {
        match Elements::of(names, layer, Access::Read)? {
            Elements::Registers(ty) if !fits(Type::U32, ty, false) => {
                return Err(format!("the number of a layer is {ty}"));
            }
            Elements::Singles | Elements::Doubles => {
                return Err("the number of a layer has no fraction".to_owned());
            }
            _ => {}
        }
        if own.is_empty() {
            return Ok(());
        }
    }
    let elements = Elements::of(names, own, Access::Read)?;
    let is_right = match layer.is_empty() {
        true => are_coordinates(elements, by),
        false => elements.bytes().is_none_or(|bytes| bytes == 4),
    };
    match elements {
        _ if is_right => Ok(()),
        Elements::Registers(ty) => Err(format!("a coordinate is {ty}")),
        elements => Err(format!("{} are no coordinates here", elements.describe())),
    }
}

/// A texture, a sampler or a surface: a variable of such a type, or a register of 64 bits with its handle.
fn handle(object: &Operand<'_>, is_texture: bool, names: &Names<'_>) -> Result<(), String> {
    let is_right = |ty: Type| is_texture != (ty == Type::Surfref);
    let expected = if is_texture { "a texture or a sampler" } else { "a surface" };
    let found = match object {
        Operand::Name(name) => names.find(name),
        _ => None,
    };
    match found {
        Some(NameKind::Register { ty, elements: 1 }) if fits(Type::U64, *ty, false) => Ok(()),
        Some(NameKind::Register { ty, .. }) => {
            Err(format!("an object is in a register of 64 bits, and this one is {ty}"))
        }
        Some(NameKind::Variable { ty, .. } | NameKind::Param { ty, .. })
            if ty.is_opaque() && is_right(*ty) =>
        {
            Ok(())
        }
        // Before PTX 1.5, of whatever type.
        Some(NameKind::Variable { space: Space::Tex, .. }) if is_texture => Ok(()),
        _ => Err(format!("{expected} is expected")),
    }
}

/// `txq` and `suq` ask about an object in brackets.
pub(super) fn query(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    match operands.get(1) {
        Some(Operand::Address { base, offset: 0 }) => {
            handle(base, name.starts_with("txq"), names).map_err(|message| format!("operand 2: {message}"))
        }
        _ => Err("operand 2: an object in brackets is expected".to_owned()),
    }
}

/// Whether these can be coordinates `by` that type.
fn are_coordinates(elements: Elements, by: Option<Type>) -> bool {
    let by_floats = by == Some(Type::F32);
    match elements {
        Elements::Registers(ty) => match ty {
            Type::B32 | Type::U32 | Type::S32 => true,
            ty => by_floats && ty == Type::F32,
        },
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
                    .and_then(|()| Elements::expect(names, list, Access::Read, (Type::F32, false)))
                    .map_err(|message| format!("operand {}: {message}", at + 1))?;
            }
            _ => return Err(format!("operand {}: a vector is expected", at + 1)),
        }
    }
    Ok(())
}

/// The offsets in texels, as many as the geometry has dimensions, and what texels are compared with.
fn offsets(
    parts: &[&str],
    operands: &[Operand<'_>],
    geometry: &str,
    names: &Names<'_>,
) -> Result<(), String> {
    let before = if parts.contains(&"grad") { 4 } else { 2 + usize::from(parts.contains(&"level")) };
    let mut last = operands.iter().enumerate().skip(before);
    if let (Some((_, Operand::Vector(list))), Some(least)) = (last.clone().next(), dimensions(geometry)) {
        long_enough(list, least).map_err(|message| format!("operand {}: {message}", before + 1))?;
        last.next();
    }
    // Behind them what texels are compared with.
    last.filter(|(_, operand)| !matches!(operand, Operand::Literal(_))).try_for_each(|(at, operand)| {
        let wrong = |message: String| format!("operand {}: {message}", at + 1);
        if geometry == "3d" {
            return Err(wrong("texels of three dimensions are not compared".to_owned()));
        }
        source(names, operand, Type::F32, false, false).map_err(wrong)
    })
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
    let is_right = |found: Type| match parts.iter().find_map(|part| Type::from_name(part)) {
        Some(Type::F32) => fits(Type::F32, found, false) || fits(Type::U32, found, false),
        Some(Type::F16) => found.size() == 2,
        Some(ty) => fits(ty, found, false),
        None => true,
    };
    elements(operand, Some(count), ("operand 1", Access::Written), &is_right, names)
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
    let is_wide_enough = |found: Type| found.size() >= size && found != Type::Pred;
    let access = if at == 0 { Access::Written } else { Access::Read };
    elements(operand, count, (&format!("operand {}", at + 1), access), &is_wide_enough, names)
}

/// Checks the type of the elements of a vector, `count` of them if that is known; a register may be a vector itself.
fn elements(
    operand: &Operand<'_>,
    count: Option<usize>,
    (place, access): (&str, Access),
    is_right: &dyn Fn(Type) -> bool,
    names: &Names<'_>,
) -> Result<(), String> {
    let check = |list: &[Operand<'_>]| match Elements::of(names, list, access) {
        Ok(Elements::Registers(found)) if !is_right(found) => {
            Err(format!("{place}: registers of type {found} are not expected"))
        }
        Ok(Elements::Doubles) => Err(format!("{place}: a number of type .f64 is not expected")),
        Ok(_) => Ok(()),
        Err(message) => Err(format!("{place}: {message}")),
    };
    match (operand, count) {
        (Operand::Vector(list), Some(count)) if list.len() != count => {
            Err(format!("{place}: {} expected, {} found", counted(count, "element"), list.len()))
        }
        (Operand::Vector(list), _) => {
            long_enough(list, 1).map_err(|message| format!("{place}: {message}"))?;
            check(list)
        }
        (Operand::Name(name), Some(count)) => match names.find(name) {
            Some(NameKind::Register { elements, .. }) if *elements as usize == count => Ok(()),
            _ => Err(format!("{place}: a vector of {} is expected", counted(count, "element"))),
        },
        (Operand::Name(name), None)
            if matches!(names.find(name), Some(NameKind::Register { elements: 2.., .. })) =>
        {
            Ok(())
        }
        (operand, None) => check(std::slice::from_ref(operand)),
        _ => Ok(()),
    }
}
