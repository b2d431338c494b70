//! The likely cause of an argument mismatch, from the two lists alone.

use std::any::type_name;

use super::args::{ParameterType, Role};
use super::check::short_type_name;
use crate::error::{Wanted, count};
use crate::memory::{DevicePtr, DevicePtrMut};

/// What a value is, as far as its type's name tells: enough for a guess.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Integer,
    Address,
    Other,
}

fn kind(given: &ParameterType) -> Kind {
    let full = (given.type_name)();
    // `path::DevicePtr<()>` without what is in the brackets.
    let is_pointer =
        |pointer: &str| pointer.split('<').next() == full.split('<').next() && full.contains('<');
    match (given.role, full) {
        (Role::Address, _) => Kind::Address,
        (Role::Length, _) => Kind::Integer,
        (Role::Value, "f32" | "f64") => Kind::Float,
        (Role::Value, "u8" | "u16" | "u32" | "u64" | "u128" | "usize") => Kind::Integer,
        (Role::Value, "i8" | "i16" | "i32" | "i64" | "i128" | "isize") => Kind::Integer,
        _ if is_pointer(type_name::<DevicePtr<()>>()) || is_pointer(type_name::<DevicePtrMut<()>>()) => {
            Kind::Address
        }
        _ => Kind::Other,
    }
}

/// One sentence, or nothing where no guess is better than the others.
pub(super) fn guess(given: &[ParameterType], wanted: &[Wanted], at: usize) -> Option<String> {
    slices_for_pointers(given, wanted)
        .or_else(|| pointers_for_slices(given, wanted))
        .or_else(|| swapped(given, wanted, at))
        .or_else(|| missing(given, wanted, at))
        .or_else(|| extra(given, wanted, at))
        .or_else(|| wrong_width(given.get(at)?, wanted.get(at)?))
}

fn fits(given: impl Iterator<Item = usize>, wanted: &[Wanted]) -> bool {
    given.eq(wanted.iter().map(|w| w.size))
}

/// `slice(x)` where the kernel takes a bare pointer.
fn slices_for_pointers(given: &[ParameterType], wanted: &[Wanted]) -> Option<String> {
    let slices = given.iter().filter(|g| g.role == Role::Length).count();
    let bare = given.iter().filter(|g| g.role != Role::Length).map(|g| g.size);
    (slices != 0 && fits(bare, wanted)).then(|| {
        "The kernel takes bare pointers: pass `x.as_device_ptr()` or `x.as_mut_device_ptr()` instead of `slice(x)`".into()
    })
}

/// A bare pointer where the kernel takes address and length.
fn pointers_for_slices(given: &[ParameterType], wanted: &[Wanted]) -> Option<String> {
    let pointers = given.iter().filter(|g| is_bare_pointer(g)).count();
    let paired =
        given.iter().flat_map(|g| std::iter::repeat_n(g.size, if is_bare_pointer(g) { 2 } else { 1 }));
    (pointers != 0 && fits(paired, wanted)).then(|| {
        "The kernel takes an address and a length for each of them: pass `slice(x)` or `slice_mut(x)`".into()
    })
}

fn is_bare_pointer(given: &ParameterType) -> bool {
    given.role == Role::Value && kind(given) == Kind::Address
}

fn swapped(given: &[ParameterType], wanted: &[Wanted], at: usize) -> Option<String> {
    let mut sizes: Vec<usize> = given.iter().map(|g| g.size).collect();
    if sizes.len() != wanted.len() {
        return None;
    }
    for other in at + 1..sizes.len() {
        sizes.swap(at, other);
        if fits(sizes.iter().copied(), wanted) {
            return Some(format!("Arguments {at} and {other} look swapped"));
        }
        sizes.swap(at, other);
    }
    None
}

fn missing(given: &[ParameterType], wanted: &[Wanted], at: usize) -> Option<String> {
    let lacking = wanted.len().checked_sub(given.len()).filter(|&n| n != 0)?;
    let rest = given.get(at..)?.iter().map(|g| g.size);
    let after = wanted.get(at + lacking..)?;
    fits(rest, after).then(|| format!("{} missing at position {at}", are(lacking, "argument")))
}

fn extra(given: &[ParameterType], wanted: &[Wanted], at: usize) -> Option<String> {
    let many = given.len().checked_sub(wanted.len()).filter(|&n| n != 0)?;
    let rest = given.get(at + many..)?.iter().map(|g| g.size);
    fits(rest, wanted.get(at..)?).then(|| format!("{} too many at position {at}", are(many, "argument")))
}

fn are(n: usize, what: &str) -> String {
    format!("{} {}", count(n, what), if n == 1 { "is" } else { "are" })
}

fn wrong_width(given: &ParameterType, wanted: &Wanted) -> Option<String> {
    let name = short_type_name((given.type_name)());
    let scalar = given.role == Role::Value && matches!(kind(given), Kind::Float | Kind::Integer);
    let ty = wanted.ty.as_deref().unwrap_or("");
    match (kind(given), wanted.size) {
        (Kind::Address, _) if given.role == Role::Value => Some(
            "The argument is a device address: did you mean the value itself, or another position?".into(),
        ),
        (_, 4 | 8) if scalar && ty.starts_with(".f") => {
            Some(format!("Did you mean an `f{}`?", wanted.size * 8))
        }
        (Kind::Float, 4 | 8) if scalar => Some(format!("Did you mean an `f{}`?", wanted.size * 8)),
        (Kind::Integer, 1 | 2 | 4 | 8) if scalar => {
            let sign = if name.starts_with('i') { 'i' } else { 'u' };
            Some(format!("Did you mean `{sign}{}`?", wanted.size * 8))
        }
        (Kind::Other, _) => Some(format!(
            "Is `{name}` `repr(C)`, with the fields of the kernel's parameter in the same order and of the same types?"
        )),
        _ => None,
    }
}
