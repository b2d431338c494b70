//! The ELF header, the section table, and the program header table.

use super::strings::Strings;
use super::{Bytes, ImageError, Section, Sections, overlap, section};

pub(super) const HEADER: u64 = 64;
const SECTION_HEADER: u64 = section::SIZE as u64;
pub(super) const PROGRAM_HEADER: u64 = 56;

/// Machine number of CUDA.
const MACHINE_CUDA: u16 = 190;

/// `EI_OSABI` since sm_100, and since CUDA 13 for all architectures.
pub(in crate::image) const OSABI_CUDA_13: u8 = 0x41;

// Section types (`sh_type`).
pub(super) const NULL: u32 = 0;
pub(super) const PROGBITS: u32 = 1;
pub(super) const SYMTAB: u32 = 2;
pub(super) const STRTAB: u32 = 3;
pub(super) const RELA: u32 = 4;
pub(super) const NOTE: u32 = 7;
pub(super) const NOBITS: u32 = 8;
pub(super) const REL: u32 = 9;
pub(super) const SYMTAB_INDEX: u32 = 18;
/// Attributes: `.nv.info`, `.nv.info.<function>`.
pub(in crate::image) const SECTION_INFO: u32 = 0x7000_0000;
/// First of the types that belong to the processor.
pub(super) const VENDOR: u32 = 0x7000_0000;
/// Initial values of global variables.
pub(super) const CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
// Flags of a section (`sh_flags`).
pub(super) const WRITE: u64 = 1;
pub(super) const ALLOCATED: u64 = 2;
pub(super) const EXECUTABLE: u64 = 4;
pub(super) const INFO_LINK: u64 = 0x40;

/// Reads the tables and checks every range in them; also returns the end of the last byte that belongs to the file.
pub(super) fn read(bytes: Bytes<'_>) -> Result<(Sections<'_>, usize), ImageError> {
    bytes.range(0, HEADER, "ELF header")?;
    check_header(bytes)?;
    let sections = read_sections(bytes)?;
    check_segments(bytes)?;
    Ok((sections, overlap::check(bytes, sections)?))
}

/// Checks the fields of the ELF header that are not offsets.
fn check_header(bytes: Bytes<'_>) -> Result<(), ImageError> {
    let wrong = |offset: usize, message: String| Err(ImageError::corrupt(offset, message));
    if !bytes.0.starts_with(b"\x7fELF") {
        return wrong(0, "no ELF".into());
    }
    if (bytes.u8(4), bytes.u8(5), bytes.u8(6)) != (2, 1, 1) {
        return wrong(4, "a cubin is a 64-bit little-endian ELF of version 1".into());
    }
    let machine = bytes.u16(18);
    if machine != MACHINE_CUDA {
        return wrong(18, format!("an ELF for machine {machine}; a cubin has {MACHINE_CUDA}"));
    }
    let kind = bytes.u16(16);
    if !matches!(kind, 1 | 2) {
        return wrong(16, format!("ELF type {kind}; a cubin is relocatable (1) or executable (2)"));
    }
    let never = if bytes.u8(7) == OSABI_CUDA_13 { 0x8000_0001 } else { 0x8000_0000 };
    let flags = bytes.u32(48);
    if flags & never != 0 {
        return wrong(48, format!("flags {flags:#010x}, of which {:#x} is never set", flags & never));
    }
    for (offset, what, size) in [(52, "ELF header", HEADER), (58, "section header", SECTION_HEADER)] {
        if u64::from(bytes.u16(offset)) != size {
            return wrong(offset, format!("size of an {what} is {} instead of {size}", bytes.u16(offset)));
        }
    }
    Ok(())
}

/// Number of sections and index of the section names; large files have them in section 0.
fn counts(bytes: Bytes<'_>) -> Result<(u64, u32), ImageError> {
    let table = bytes.u64(40);
    let (count, names) = (bytes.u16(60), bytes.u16(62));
    bytes.range(table, SECTION_HEADER, "section table")?;
    let first = table as usize;
    let count = if count == 0 { bytes.u64(first + 32) } else { u64::from(count) };
    let names = if names == 0xffff { bytes.u32(first + 40) } else { u32::from(names) };
    Ok((count, names))
}

fn read_sections(bytes: Bytes<'_>) -> Result<Sections<'_>, ImageError> {
    let start = bytes.u64(40);
    let (count, names) = counts(bytes)?;
    let table = bytes.range(start, count.saturating_mul(SECTION_HEADER), "section table")?;
    let start = start as usize;
    // Its size and link are counts that do not fit in the ELF header; nothing else in it may be set.
    let unset = |field: &usize| bytes.u64(start + field) == 0;
    let counts_unset = bytes.u16(60) == 0 || bytes.u64(start + 32) == 0 && bytes.u64(start + 40) == 0;
    if !counts_unset || ![0, 8, 16, 24, 48, 56].iter().all(unset) {
        return Err(ImageError::corrupt(start, "the section table does not begin with the empty section"));
    }
    let sections = Sections::new(bytes, table, start);
    for (index, section) in sections.iter().enumerate() {
        check_section(bytes, &section, index)?;
    }
    let Some(table) = sections.get(names).filter(|s| s.kind() == STRTAB) else {
        let message = format!("section {names} of {count} is not a table of section names");
        return Err(ImageError::corrupt(62, message));
    };
    let mut strings = Strings::new(&table);
    for section in sections.iter() {
        strings.at(section.name_index(), section.header)?;
    }
    Ok(sections.with_names(&table))
}

/// Checks one header and the range of the contents; the name comes later.
#[inline(always)]
fn check_section(bytes: Bytes<'_>, section: &Section<'_>, index: usize) -> Result<(), ImageError> {
    if section.has_data() {
        bytes.range(section.place(), section.size(), format_args!("section {index}"))?;
    }
    let alignment = section.alignment();
    if alignment != 0 && !alignment.is_power_of_two() {
        let message = format!("alignment of section {index} is {alignment}, which is not a power of two");
        return Err(ImageError::corrupt(section.header + 48, message));
    }
    Ok(())
}

/// Offset and number of the program headers.
pub(super) fn segments(bytes: Bytes<'_>) -> (u64, u64) {
    (bytes.u64(32), u64::from(bytes.u16(56)))
}

/// Checks that every segment of the program header table lies inside the file.
fn check_segments(bytes: Bytes<'_>) -> Result<(), ImageError> {
    let (size, (start, count)) = (u64::from(bytes.u16(54)), segments(bytes));
    if count == 0 {
        return Ok(());
    }
    if size != PROGRAM_HEADER {
        let message = format!("size of a program header is {size} instead of {PROGRAM_HEADER}");
        return Err(ImageError::corrupt(54, message));
    }
    bytes.range(start, count * size, "program header table")?;
    for index in 0..count {
        let header = (start + index * size) as usize;
        let (offset, length, memory) =
            (bytes.u64(header + 8), bytes.u64(header + 32), bytes.u64(header + 40));
        bytes.range(offset, length, format_args!("segment {index}"))?;
        if length > memory {
            let message = format!("segment {index} has {length} bytes in the file but {memory} in memory");
            return Err(ImageError::corrupt(header + 40, message));
        }
    }
    Ok(())
}
