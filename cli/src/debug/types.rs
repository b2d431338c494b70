//! Types of DWARF.

use gimli::{UnitOffset, constants as dw};

use super::entry::{Budget, Entry, Unit};
use crate::model::{Access, Meaning};
use crate::scalar::Scalar;

/// Names and qualifiers that a type may have around it.
const LONGEST_CHAIN: usize = 16;
/// The size of an address in bytes if the entry does not have it.
const ADDRESS: usize = 8;

/// The size in bytes and the meaning of a type; `None` if it is not understood.
pub(super) fn resolve(
    unit: &Unit<'_, '_>,
    place: UnitOffset,
    budget: &mut Budget,
) -> Option<(usize, Meaning)> {
    let entry = bare(unit, Some(place), budget).0?;
    match entry.tag {
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
            Some((entry.size.unwrap_or(ADDRESS), pointer(unit, &entry, budget)))
        }
        _ => {
            let meaning = scalar(unit, &entry, budget).map_or(Meaning::Bytes, Meaning::Value);
            Some((entry.size?, meaning))
        }
    }
}

/// The type without typedefs and qualifiers (`void` has no entry), and whether `const` was among them.
fn bare<'a>(
    unit: &Unit<'_, 'a>,
    mut place: Option<UnitOffset>,
    budget: &mut Budget,
) -> (Option<Entry<'a>>, bool) {
    let mut constant = false;
    for _ in 0..LONGEST_CHAIN {
        let entry = place.and_then(|place| unit.at(place, budget));
        match entry.as_ref().map(|entry| entry.tag) {
            Some(dw::DW_TAG_const_type) => constant = true,
            Some(
                dw::DW_TAG_typedef
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type,
            ) => {}
            _ => return (entry, constant),
        }
        place = entry.and_then(|entry| entry.ty);
    }
    (None, constant)
}

fn pointer(unit: &Unit<'_, '_>, entry: &Entry<'_>, budget: &mut Budget) -> Meaning {
    let (target, constant) = bare(unit, entry.ty, budget);
    let element = target.and_then(|target| scalar(unit, &target, budget));
    let reads = constant || is_constant_in_rust(entry);
    Meaning::Pointer { element, access: Access { reads, writes: false } }
}

/// In Rust, the name of the pointer type tells.
fn is_constant_in_rust(entry: &Entry<'_>) -> bool {
    let name = entry.name.unwrap_or_default();
    name.starts_with(b"*const ") || name.starts_with(b"&") && !name.starts_with(b"&mut ")
}

fn scalar(unit: &Unit<'_, '_>, entry: &Entry<'_>, budget: &mut Budget) -> Option<Scalar> {
    let found = match entry.tag {
        dw::DW_TAG_base_type => Scalar::of_dwarf(entry.encoding?, entry.size?),
        // In C, an enumeration has an underlying type, or an integer type of its size.
        dw::DW_TAG_enumeration_type => {
            let under = bare(unit, entry.ty, budget).0;
            let under = under.and_then(|ty| Scalar::of_dwarf(ty.encoding?, ty.size?));
            under.or_else(|| Scalar::of_dwarf(dw::DW_ATE_unsigned, entry.size?))
        }
        // Numbers that CUDA's headers declare.
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
            std::str::from_utf8(entry.name?).ok().and_then(Scalar::of_cpp)
        }
        _ => None,
    };
    found.filter(|scalar| Some(scalar.size()) == entry.size)
}
