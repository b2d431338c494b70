//! The subprograms of DWARF that are kernels, with their parameters.

use gimli::{DebugInfo, LittleEndian, UnitOffset, constants as dw};
use std::collections::HashMap;

use super::entry::{Budget, Entry, Unit, abbreviations};
use super::{Sections, types};
use crate::model::{Declared, Kernel, Signature};

/// The maximum length of a chain of entries: a definition, its declaration, an inlined function.
const ORIGINS: usize = 4;
/// Bytes of the longest name that a parameter gets.
const LONGEST_NAME: usize = 200;

type Signatures<'k> = HashMap<&'k [u8], &'k mut Signature>;

/// A kernel whose parameters are being read.
struct Open<'a> {
    name: &'a [u8],
    depth: isize,
    /// Parameters that the image has; one more is too many.
    count: usize,
    /// `None` once one is not understood.
    parameters: Option<Vec<Declared>>,
}

pub(super) fn describe(sections: &Sections<'_>, kernels: &mut [Kernel]) {
    let named =
        kernels.iter_mut().filter_map(|kernel| Some((kernel.name.as_bytes(), kernel.signature.as_mut()?)));
    let mut signatures: Signatures<'_> = named.collect();
    let mut budget = Budget::of(sections);
    let mut units = DebugInfo::new(&sections.info, LittleEndian).units();
    let mut table = None;
    while let (Ok(Some(header)), Some(())) = (units.next(), budget.spend(1)) {
        // Units that were compiled together share a table.
        let offset = header.debug_abbrev_offset();
        if table.as_ref().is_none_or(|(known, _)| *known != offset) {
            table = Some((offset, abbreviations(&sections.abbreviations, offset, &mut budget)));
        }
        if let Some((_, Some(abbreviations))) = &table {
            let unit = Unit { sections, header: &header, abbreviations };
            // A unit that is broken in the middle may still have useful entries before.
            let _ = walk(&unit, &mut signatures, &mut budget);
        }
    }
}

fn walk(unit: &Unit<'_, '_>, signatures: &mut Signatures<'_>, budget: &mut Budget) -> Option<()> {
    let mut entries = unit.header.entries_raw(unit.abbreviations, None).ok()?;
    let mut open: Option<Open<'_>> = None;
    while !entries.is_empty() {
        let Some(entry) = unit.next(&mut entries, budget)? else { continue };
        if open.as_ref().is_some_and(|open| entry.depth <= open.depth) {
            close(open.take(), signatures);
        }
        match (entry.tag, &mut open) {
            (dw::DW_TAG_subprogram, None) if !entry.is_declaration => {
                open = kernel(unit, &entry, signatures, budget);
            }
            (dw::DW_TAG_formal_parameter, Some(open)) if entry.depth == open.depth + 1 => {
                open.add(|| parameter(unit, entry, budget));
            }
            _ => {}
        }
    }
    close(open, signatures);
    Some(())
}

impl Open<'_> {
    fn add(&mut self, parameter: impl FnOnce() -> Option<Declared>) {
        let Some(list) = &mut self.parameters else { return };
        match (list.len() < self.count).then(parameter).flatten() {
            Some(parameter) => list.push(parameter),
            None => self.parameters = None,
        }
    }
}

fn close(open: Option<Open<'_>>, signatures: &mut Signatures<'_>) {
    let Some(Open { name, parameters: Some(list), .. }) = open else { return };
    if let Some(signature) = signatures.get_mut(name) {
        signature.declared(list);
    }
}

/// The subprogram, if the image has a kernel with its linkage name, or with its name if it has no linkage name.
fn kernel<'a>(
    unit: &Unit<'_, 'a>,
    entry: &Entry<'a>,
    signatures: &Signatures<'_>,
    budget: &mut Budget,
) -> Option<Open<'a>> {
    let whole = |get: fn(&Entry<'a>) -> Option<&'a [u8]>, budget: &mut Budget| {
        get(entry).or_else(|| origin(unit, entry.origin, get, budget))
    };
    let name = whole(|entry| entry.linkage_name, budget).or_else(|| whole(|entry| entry.name, budget))?;
    let signature = signatures.get(name)?;
    Some(Open { name, depth: entry.depth, count: signature.0.len(), parameters: Some(Vec::new()) })
}

fn parameter<'a>(unit: &Unit<'_, 'a>, entry: Entry<'a>, budget: &mut Budget) -> Option<Declared> {
    let name = entry.name.or_else(|| origin(unit, entry.origin, |entry| entry.name, budget));
    let ty = entry.ty.or_else(|| origin(unit, entry.origin, |entry| entry.ty, budget))?;
    let (size, meaning) = types::resolve(unit, ty, budget)?;
    Some(Declared { name: name.and_then(identifier), size, meaning })
}

/// The entry that supplies missing attributes.
fn origin<'a, T>(
    unit: &Unit<'_, 'a>,
    mut place: Option<UnitOffset>,
    get: impl Fn(&Entry<'a>) -> Option<T>,
    budget: &mut Budget,
) -> Option<T> {
    for _ in 0..ORIGINS {
        let entry = unit.at(place?, budget)?;
        if let Some(found) = get(&entry) {
            return Some(found);
        }
        place = entry.origin;
    }
    None
}

/// A valid identifier: nothing else may be printed to a terminal or into source.
fn identifier(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= LONGEST_NAME)?;
    let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (starts && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then(|| name.to_owned())
}
