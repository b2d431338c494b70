//! The operands of copies of tensors, as ptxas 13.0 has them.

use cuda_ptx::{Operand, Space, Type};

use super::super::table::Form;
use super::addresses::{Width, place};
use super::names::Names;
use super::operands::register;
use super::vectors::{Access, Elements, counted};

/// The dimensions of a form that names some.
fn rank(form: &Form<'_>) -> usize {
    let name = form.any(&["1d", "2d", "3d", "4d", "5d"]).unwrap_or_default();
    name.trim_end_matches('d').parse().unwrap_or_default()
}

/// How many coordinates: of four rows that are gathered or scattered, one for each, and a column.
fn coordinates(form: &Form<'_>) -> usize {
    match form.any(&["tile::gather4", "tile::scatter4"]) {
        Some(_) => 5,
        None => rank(form),
    }
}

/// `[map, {coordinates}]`: the map in a register of whatever type or in global memory, the coordinates in 32 bits each.
pub(super) fn map(names: &Names<'_>, operand: &Operand<'_>, form: &Form<'_>) -> Result<(), String> {
    let Operand::AddressList(list) = operand else {
        return Err("a tensor map and coordinates are expected in brackets".to_owned());
    };
    let [map, Operand::Vector(list)] = list.as_slice() else {
        return Err("a tensor map and a list of coordinates are expected in brackets".to_owned());
    };
    if register(names, map).is_none() {
        place(names, map, Some(Space::Global), Width::BySpace)?;
    }
    expect(list.len(), coordinates(form), "coordinate")?;
    let is_two_dimensional = form.any(&["im2col", "im2col_no_offs"]).is_some() && rank(form) < 3;
    if is_two_dimensional {
        return Err("`.im2col` needs three dimensions".to_owned());
    }
    Elements::expect(names, list, Access::Read, (Type::U32, false))
}

/// What is added to the coordinates: with `.im2col` one number of 16 bits for each dimension but two.
pub(super) fn offsets(names: &Names<'_>, operand: &Operand<'_>, form: &Form<'_>) -> Result<(), String> {
    let Operand::Vector(list) = operand else {
        return Err("a list of offsets is expected".to_owned());
    };
    if form.has("im2col") {
        expect(list.len(), rank(form).saturating_sub(2), "offset")?;
    }
    Elements::expect(names, list, Access::Read, (Type::U16, false))
}

/// An address of shared memory, perhaps without brackets: ptxas looks at what is in brackets only.
pub(super) fn shared(names: &Names<'_>, operand: &Operand<'_>) -> Result<(), String> {
    match operand {
        Operand::Address { base, .. } => place(names, base, Some(Space::Shared), Width::Two),
        Operand::Offset(name, _) => bare(names, &Operand::Name(name)),
        operand => bare(names, operand),
    }
}

fn bare(names: &Names<'_>, operand: &Operand<'_>) -> Result<(), String> {
    match register(names, operand) {
        Some(_) => Ok(()),
        None => place(names, operand, Some(Space::Shared), Width::Two),
    }
}

fn expect(found: usize, expected: usize, thing: &str) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{} expected, {found} found", counted(expected, thing))),
    }
}
