//! Which parts of a file may share bytes.

use super::tables::{HEADER, NOTE, PROGRAM_HEADER, REL, RELA, SECTION_INFO, STRTAB, SYMTAB, segments};
use super::{Bytes, ImageError, Sections, section};
use crate::order::in_order;

/// A part of the file, by its offsets.
#[derive(Clone, Copy)]
struct Part {
    start: u64,
    end: u64,
    what: What,
    role: Role,
}

/// What a part is, for errors.
#[derive(Clone, Copy)]
enum What {
    Header,
    SectionTable,
    Segments,
    /// The contents of the section with this index.
    Section(u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A header, or a table of headers.
    Header,
    /// A section whose contents are followed: strings, symbols, relocations, notes, attributes.
    Structure,
    /// Code, data, debug information.
    Contents,
}

/// All parts, in the order in which compilers write them: the tables of headers come last.
fn parts<'a>(bytes: Bytes<'a>, sections: Sections<'a>) -> impl Iterator<Item = Part> + Clone + use<'a> {
    let header = |start, end, what| Part { start, end, what, role: Role::Header };
    let table = bytes.u64(40);
    let table = header(table, table + (sections.len() * section::SIZE) as u64, What::SectionTable);
    let (start, count) = segments(bytes);
    let segments = header(start, start.saturating_add(count * PROGRAM_HEADER), What::Segments);
    let contents = sections.iter().enumerate().filter(|(_, s)| s.has_data() && s.size() != 0);
    let contents = contents.map(|(index, section)| {
        let followed = matches!(section.kind(), STRTAB | SYMTAB | RELA | REL | NOTE | SECTION_INFO);
        let role = if followed { Role::Structure } else { Role::Contents };
        let start = section.place();
        Part { start, end: start + section.size(), what: What::Section(index as u32), role }
    });
    let tables = [table, segments].into_iter().filter(|part| part.start != part.end);
    [header(0, HEADER, What::Header)].into_iter().chain(contents).chain(tables)
}

/// Headers and the sections whose contents are followed must not overlap anything: an overlap means that an offset or
/// a count is wrong, and then the work of reading the file would not be bounded by its length. Sections of plain
/// contents may share their bytes, also with a followed section of exactly the same range, as in files of newer
/// architectures. Returns the end of the last part.
pub(super) fn check(bytes: Bytes<'_>, sections: Sections<'_>) -> Result<usize, ImageError> {
    let parts = parts(bytes, sections);
    let (mut reach, mut last) = (Reach::default(), (0, 0));
    // Compilers write the parts in the order of their headers; otherwise they are sorted first, and for an error, too.
    let in_turn = parts.clone().all(|part| {
        let place = (part.start, part.end);
        std::mem::replace(&mut last, place) <= place && reach.add(part).is_ok()
    });
    let end = if in_turn { Ok(reach.end()) } else { sorted(parts.collect()) };
    end.map(|end| end as usize).map_err(|(part, other)| {
        let (what, with) = (name(part.what, sections), name(other.what, sections));
        let message = format!("{what} at {:#x} overlaps {with} at {:#x}", part.start, other.start);
        ImageError::corrupt(field(part.what, sections), message)
    })
}

/// The same for parts in any order.
#[cold]
fn sorted(parts: Vec<Part>) -> Result<u64, (Part, Part)> {
    let mut reach = Reach::default();
    let order = in_order(&parts.iter().map(|part| (part.start, part.end)).collect::<Vec<_>>());
    order.into_iter().try_for_each(|at| reach.add(parts[at]))?;
    Ok(reach.end())
}

/// The earlier parts that reach farthest, in their order.
#[derive(Default)]
struct Reach {
    /// Of all.
    any: Option<Part>,
    /// Of those that are followed.
    followed: Option<Part>,
}

impl Reach {
    fn end(&self) -> u64 {
        self.any.map_or(0, |part| part.end)
    }

    /// Adds the next part; an error if it overlaps one of them, which is returned with it.
    #[inline(always)]
    fn add(&mut self, part: Part) -> Result<(), (Part, Part)> {
        let is_contents = part.role == Role::Contents;
        // Of those that are followed, no two share bytes, even if contents of the same range come before them.
        let any = self.any.filter(|_| !is_contents);
        let overlapped = [any, self.followed].into_iter().flatten().find(|other| overlaps(part, *other));
        if let Some(other) = overlapped {
            return Err((part, other));
        }
        let farther = |other: Option<Part>| other.is_none_or(|other| part.end > other.end);
        if farther(self.any) {
            self.any = Some(part);
        }
        if !is_contents && farther(self.followed) {
            self.followed = Some(part);
        }
        Ok(())
    }
}

/// Whether a part and an earlier one share bytes that they must not share.
#[inline(always)]
fn overlaps(part: Part, other: Part) -> bool {
    let twins = (part.start, part.end) == (other.start, other.end)
        && matches!(
            (part.role, other.role),
            (Role::Contents, Role::Structure) | (Role::Structure, Role::Contents)
        );
    part.start < other.end && !twins
}

fn name<'a>(what: What, sections: Sections<'a>) -> &'a str {
    match what {
        What::Header => "ELF header",
        What::SectionTable => "section table",
        What::Segments => "program header table",
        What::Section(index) => sections.get(index).map_or("", |section| section.name()),
    }
}

/// The offset of the field that says where the part is.
fn field(what: What, sections: Sections<'_>) -> usize {
    match what {
        What::Header => 0,
        What::SectionTable => 40,
        What::Segments => 32,
        What::Section(index) => sections.get(index).map_or(0, |section| section.header + 24),
    }
}
