//! Symbols, relocations, notes, and the links between sections.

use super::strings::Strings;
use super::symbol;
use super::tables::{
    ALLOCATED, EXECUTABLE, INFO_LINK, NOBITS, NOTE, NULL, PROGBITS, REL, RELA, SECTION_INFO, STRTAB, SYMTAB,
    SYMTAB_INDEX,
};
use super::{Bytes, ImageError, Section, Sections, Symbol, Symbols};
use crate::order::{Named, are_different};

/// From here on a section index in a symbol has a special meaning: absolute, common, or "in the other table".
const RESERVED_INDEX: u32 = 0xff00;
const ABSOLUTE: u32 = 0xfff1;
const COMMON: u32 = 0xfff2;

/// The only symbol table. Of each symbol, the name, the section and the position in that section are checked to
/// exist.
pub(super) fn symbols(sections: Sections<'_>) -> Result<Symbols<'_>, ImageError> {
    let mut tables = sections.iter().filter(|s| s.kind() == SYMTAB);
    let Some(table) = tables.next() else { return Ok(Symbols::NONE) };
    if let Some(second) = tables.next() {
        return Err(ImageError::corrupt(second.header + 4, "a second symbol table"));
    }
    let count = table.entries(symbol::SIZE as u64)?;
    if u64::from(table.info()) > count {
        let message = format!("first global symbol is {}, but the table has {count}", table.info());
        return Err(ImageError::corrupt(table.header + 44, message));
    }
    let names = sections.get(table.link()).filter(|s| s.kind() == STRTAB);
    let names = names.ok_or_else(|| table.bad_link("a string table"))?;
    let indices = sections.iter().find(|s| s.kind() == SYMTAB_INDEX).map(|s| s.data());
    let (symbols, mut strings) = (Symbols::new(&table, &names, indices), Strings::new(&names));
    for (index, symbol) in symbols.iter().enumerate() {
        let offset = table.offset() + index * symbol::SIZE;
        strings.at(symbol.name_index(), offset)?;
        let section = symbol.section;
        let special = !symbols.has_indices() && section >= RESERVED_INDEX;
        let home = if special { None } else { sections.get(section) };
        if home.is_none() && !matches!(section, ABSOLUTE | COMMON) {
            let name = symbol.name();
            let message = format!("symbol `{name}` lies in section {section}, which does not exist");
            return Err(ImageError::corrupt(offset + 6, message));
        }
        if let Some(home) = home.filter(|s| s.kind() != NULL) {
            check_place(&symbol, &home, offset)?;
        }
    }
    Ok(symbols)
}

/// Checks that a symbol lies inside its section. CUDA's own symbol types are exempt: those of shared memory lie
/// anywhere.
#[inline(always)]
fn check_place(symbol: &Symbol<'_>, home: &Section<'_>, offset: usize) -> Result<(), ImageError> {
    let standard = symbol.kind() <= 4;
    if standard && symbol.value().saturating_add(symbol.size()) > home.size() {
        let (name, size, value) = (symbol.name(), symbol.size(), symbol.value());
        let message = format!(
            "symbol `{name}` has {size} bytes at {value:#x} of `{}`, which has {:#x}",
            home.name(),
            home.size()
        );
        return Err(ImageError::corrupt(offset + 8, message));
    }
    Ok(())
}

/// Checks all other references between sections.
pub(super) fn check(sections: Sections<'_>, symbols: Symbols<'_>) -> Result<(), ImageError> {
    let repeated = repeated(sections, symbols);
    for (at, section) in sections.iter().enumerate() {
        check_info(&section, sections.len(), symbols.len())?;
        if repeated == Some(at) {
            let message = format!("a second section `{}`", section.name());
            return Err(ImageError::corrupt(section.header, message));
        }
        match section.kind() {
            REL | RELA => check_relocations(&section, sections, symbols.len())?,
            NOTE => check_notes(&section)?,
            _ => {}
        }
    }
    Ok(())
}

/// The first section with the name of an earlier one: a driver finds constant banks and kernels by name. Functions of two linked inputs
/// may have the same name.
fn repeated(sections: Sections<'_>, symbols: Symbols<'_>) -> Option<usize> {
    let allocated = sections.iter().enumerate().filter(|(_, s)| s.flags() & ALLOCATED != 0);
    // Most images repeat no name at all.
    if are_different(sections.len(), allocated.clone().map(|(_, section)| section.name_bytes())) {
        return None;
    }
    let kernels = symbols.iter().filter(Symbol::is_kernel).map(|s| (s.name(), 0)).collect();
    let kernels = Named::new(kernels);
    let named = allocated.filter(|(_, section)| !is_device_function(section, &kernels));
    Named::new(named.map(|(at, section)| (section.name(), at)).collect()).repeated()
}

/// Whether the section is code that only other code of the image calls.
fn is_device_function(section: &Section<'_>, kernels: &Named<'_>) -> bool {
    let function = section.name_after(".text.");
    section.flags() & EXECUTABLE != 0 && function.is_some_and(|name| kernels.get(name).is_none())
}

/// `sh_info` is a symbol in a section of code, and a section in most others.
#[inline(always)]
fn check_info(section: &Section<'_>, sections: usize, symbols: usize) -> Result<(), ImageError> {
    let plain = matches!(section.kind(), PROGBITS | NOBITS | NOTE | STRTAB | SECTION_INFO);
    let (index, limit, what) = if section.flags() & EXECUTABLE != 0 {
        // The highest byte may be a number of registers.
        (section.info() & 0xff_ffff, symbols, "symbol")
    } else if plain || section.flags() & INFO_LINK != 0 {
        (section.info(), sections, "section")
    } else {
        return Ok(());
    };
    if index as usize >= limit.max(1) {
        let message = format!("`{}` belongs to {what} {index}, but there are {limit}", section.name());
        return Err(ImageError::corrupt(section.header + 44, message));
    }
    Ok(())
}

/// Checks that every relocation names a symbol and a position that exist.
fn check_relocations(table: &Section<'_>, sections: Sections<'_>, symbols: usize) -> Result<(), ImageError> {
    let size = if table.kind() == RELA { 24 } else { 16 };
    table.entries(size as u64)?;
    let at = |index: u32| sections.get(index).filter(|s| s.kind() != NULL);
    at(table.link()).filter(|s| s.kind() == SYMTAB).ok_or_else(|| table.bad_link("a symbol table"))?;
    let target = at(table.info()).ok_or_else(|| {
        let message = format!("`{}` relocates section {}, which does not exist", table.name(), table.info());
        ImageError::corrupt(table.header + 44, message)
    })?;
    for (index, entry) in table.data().chunks_exact(size).enumerate() {
        let (offset, entry) = (table.offset() + index * size, Bytes(entry));
        let (place, symbol) = (entry.u64(0), entry.u32(12));
        if place >= target.size() {
            let message =
                format!("place {place:#x} in `{}`, which has {:#x} bytes", target.name(), target.size());
            return Err(ImageError::corrupt(offset, message));
        }
        if symbol as usize >= symbols {
            let message = format!("relocation by symbol {symbol}, but there are {symbols}");
            return Err(ImageError::corrupt(offset + 12, message));
        }
    }
    Ok(())
}

/// Checks that notes fill their section; the note about the tools refers to strings at its end.
fn check_notes(section: &Section<'_>) -> Result<(), ImageError> {
    let data = Bytes(section.data());
    // Asked once: a hostile file has very many notes, in a section with a very long name.
    let of_tools = section.is_named(".note.nv.tkinfo");
    let mut at = 0u64;
    while at < section.size() {
        let field = section.offset() + at as usize;
        let Ok(header) = data.range(at, 12, "note").map(Bytes) else {
            return Err(ImageError::corrupt(field, format!("a note of `{}` is truncated", section.name())));
        };
        let (name, description) = (u64::from(header.u32(0)), u64::from(header.u32(4)));
        let start = at + 12 + name.next_multiple_of(4);
        let Ok(description) = data.range(start, description, "note") else {
            let message = format!("a note of `{}` reaches beyond its section", section.name());
            return Err(ImageError::corrupt(field, message));
        };
        if of_tools {
            check_tool_note(Bytes(description), section.offset() + start as usize)?;
        }
        at = start + (description.len() as u64).next_multiple_of(4);
    }
    Ok(())
}

/// The note consists of two numbers, four offsets of strings, and the strings.
fn check_tool_note(description: Bytes<'_>, base: usize) -> Result<(), ImageError> {
    const STRINGS: usize = 24;
    let strings = description.0.get(STRINGS..).unwrap_or_default();
    for field in (8..STRINGS).step_by(4) {
        let string = strings.get(description.u32(field) as usize..).unwrap_or_default();
        if !string.contains(&0) {
            let message = format!("the note about the tools has no string at {}", description.u32(field));
            return Err(ImageError::corrupt(base + field, message));
        }
    }
    Ok(())
}
