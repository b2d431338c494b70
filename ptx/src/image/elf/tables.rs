//! The ELF header, the section table, and the program header table.

use super::strings::Strings;
use super::{Bytes, ImageError, Section};
use crate::order::in_order;

const HEADER: u64 = 64;
const SECTION_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;

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
const VENDOR: u32 = 0x7000_0000;
/// Initial values of global variables.
const CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
// Flags of a section (`sh_flags`).
const WRITE: u64 = 1;
pub(super) const ALLOCATED: u64 = 2;
pub(super) const EXECUTABLE: u64 = 4;
pub(super) const INFO_LINK: u64 = 0x40;

/// The contents of the header and its tables.
pub(super) struct Tables<'a> {
    pub(super) sections: Vec<Section<'a>>,
    pub(super) extent: usize,
}

/// A part of the file, by its offsets.
#[derive(Clone, Copy)]
struct Part<'a> {
    start: u64,
    end: u64,
    what: &'a str,
    role: Role,
    /// The offset of the field that says so.
    field: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A header, or a table of headers.
    Header,
    /// A section whose contents are followed: strings, symbols, relocations, attributes.
    Structure,
    /// Code, data, debug information.
    Contents,
}

/// Reads the tables and checks every range in them.
pub(super) fn read(bytes: Bytes<'_>) -> Result<Tables<'_>, ImageError> {
    bytes.range(0, HEADER, "ELF header")?;
    check_header(bytes)?;
    let mut parts = vec![Part { start: 0, end: HEADER, what: "ELF header", role: Role::Header, field: 0 }];
    let sections = read_sections(bytes, &mut parts)?;
    check_segments(bytes, &mut parts)?;
    let extent = check_overlap(&parts)?;
    Ok(Tables { sections, extent })
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

fn read_sections<'a>(bytes: Bytes<'a>, parts: &mut Vec<Part<'a>>) -> Result<Vec<Section<'a>>, ImageError> {
    let start = bytes.u64(40);
    let (count, names) = counts(bytes)?;
    let size = count.saturating_mul(SECTION_HEADER);
    let table = bytes.range(start, size, "section table")?;
    parts.push(Part { start, end: start + size, what: "section table", role: Role::Header, field: 40 });
    let start = start as usize;
    // Its size and link are counts that do not fit in the ELF header; nothing else in it may be set.
    let unset = |field: &usize| bytes.u64(start + field) == 0;
    let counts_unset = bytes.u16(60) == 0 || bytes.u64(start + 32) == 0 && bytes.u64(start + 40) == 0;
    if !counts_unset || ![0, 8, 16, 24, 48, 56].iter().all(unset) {
        return Err(ImageError::corrupt(start, "the section table does not begin with the empty section"));
    }
    let count_here = table.len() / SECTION_HEADER as usize;
    let mut sections = Vec::with_capacity(count_here);
    for index in 0..count_here {
        sections.push(read_section(bytes, start + index * SECTION_HEADER as usize, index)?);
    }
    let Some(table) = sections.get(names as usize).filter(|s| s.kind == STRTAB).copied() else {
        let message = format!("section {names} of {count} is not a table of section names");
        return Err(ImageError::corrupt(62, message));
    };
    let mut strings = Strings::new(&table);
    parts.reserve(sections.len());
    for section in &mut sections {
        section.name = strings.at(bytes.u32(section.header), section.header)?;
        if !section.data.is_empty() {
            let start = section.offset as u64;
            let end = start + section.data.len() as u64;
            let followed = matches!(section.kind, STRTAB | SYMTAB | RELA | REL | SECTION_INFO);
            let role = if followed { Role::Structure } else { Role::Contents };
            parts.push(Part { start, end, what: section.name, role, field: section.header + 24 });
        }
    }
    Ok(sections)
}

/// One header and the contents it points to; the name comes later.
fn read_section<'a>(bytes: Bytes<'a>, header: usize, index: usize) -> Result<Section<'a>, ImageError> {
    let (kind, offset, size) = (bytes.u32(header + 4), bytes.u64(header + 24), bytes.u64(header + 32));
    let (flags, vendor) = (bytes.u64(header + 8), kind >= VENDOR);
    // A section that a program writes to and that has no initial values has only a size: global, local and shared
    // memory.
    let size_only = vendor && flags & WRITE != 0 && kind != CUDA_GLOBAL_INIT;
    let has_data = !matches!(kind, NULL | NOBITS) && !size_only;
    let data = if has_data { bytes.range(offset, size, format_args!("section {index}"))? } else { &[] };
    let alignment = bytes.u64(header + 48);
    if alignment != 0 && !alignment.is_power_of_two() {
        let message = format!("alignment of section {index} is {alignment}, which is not a power of two");
        return Err(ImageError::corrupt(header + 48, message));
    }
    Ok(Section {
        name: "",
        kind,
        offset: if has_data { offset as usize } else { 0 },
        data,
        info: bytes.u32(header + 44),
        header,
        size,
        link: bytes.u32(header + 40),
        entry_size: bytes.u64(header + 56),
        flags,
    })
}

/// Checks that every segment of the program header table lies inside the file.
fn check_segments(bytes: Bytes<'_>, parts: &mut Vec<Part<'_>>) -> Result<(), ImageError> {
    let (start, size, count) = (bytes.u64(32), u64::from(bytes.u16(54)), u64::from(bytes.u16(56)));
    if count == 0 {
        return Ok(());
    }
    if size != PROGRAM_HEADER {
        let message = format!("size of a program header is {size} instead of {PROGRAM_HEADER}");
        return Err(ImageError::corrupt(54, message));
    }
    bytes.range(start, count * size, "program header table")?;
    parts.push(Part {
        start,
        end: start + count * size,
        what: "program header table",
        role: Role::Header,
        field: 32,
    });
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

/// Headers and the sections whose contents are followed must not overlap anything: an overlap means that an offset or
/// a count is wrong, and then the work of reading the file would not be bounded by its length. Sections of plain
/// contents may share their bytes, also with a followed section of exactly the same range, as in files of newer
/// architectures. Returns the end of the last part.
fn check_overlap(parts: &[Part<'_>]) -> Result<usize, ImageError> {
    let order = in_order(&parts.iter().map(|part| (part.start, part.end)).collect::<Vec<_>>());
    // The earlier parts that reach farthest: of all, and of those that are followed.
    let (mut any, mut followed) = (parts[order[0]], parts[order[0]]);
    for part in order[1..].iter().map(|at| parts[*at]) {
        let other = if part.role == Role::Contents { followed } else { any };
        let twins = (part.start, part.end) == (other.start, other.end)
            && matches!(
                (part.role, other.role),
                (Role::Contents, Role::Structure) | (Role::Structure, Role::Contents)
            );
        if part.start < other.end && !twins {
            let message =
                format!("{} at {:#x} overlaps {} at {:#x}", part.what, part.start, other.what, other.start);
            return Err(ImageError::corrupt(part.field, message));
        }
        if part.end > any.end {
            any = part;
        }
        if part.role != Role::Contents && part.end > followed.end {
            followed = part;
        }
    }
    Ok(any.end as usize)
}
