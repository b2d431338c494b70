//! The headers of a program or library for this machine: its loader, the libraries that it needs, its sections.
//!
//! Only the needed parts are read, because a library may have a gigabyte. The file may contain anything: offsets and counts are
//! validated by reading, up to limits.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of one table or section that is read.
const MAX_PART: u64 = 512 << 20;
/// Entries of a table.
const MAX_ENTRIES: usize = 65_536;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;

const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// A 64-bit little-endian ELF file.
pub(crate) struct Elf {
    file: File,
    folder: PathBuf,
    segments: Vec<Segment>,
    sections: Vec<Section>,
}

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

struct Section {
    name: String,
    offset: u64,
    bytes: u64,
}

/// The entries for the loader.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dynamic {
    pub(crate) needed: Vec<String>,
    pub(crate) rpath: Option<String>,
    pub(crate) runpath: Option<String>,
}

impl Elf {
    /// `None` if it cannot be read or is not such a file.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let head = part(&mut file, 0, 64)?;
        if head.get(..6) != Some(b"\x7fELF\x02\x01") {
            return None;
        }
        let mut elf = Self {
            folder: path.canonicalize().ok()?.parent()?.to_owned(),
            file,
            segments: Vec::new(),
            sections: Vec::new(),
        };
        elf.read_segments(&head);
        elf.read_sections(&head);
        Some(elf)
    }

    fn read_segments(&mut self, head: &[u8]) {
        let (offset, size, count) = (u64_at(head, 32), u16_at(head, 54), u16_at(head, 56));
        for entry in entries(&mut self.file, offset, size, count, 56) {
            self.segments.push(Segment {
                kind: u32_at(&entry, 0),
                offset: u64_at(&entry, 8),
                address: u64_at(&entry, 16),
                bytes: u64_at(&entry, 32),
            });
        }
    }

    fn read_sections(&mut self, head: &[u8]) {
        let (offset, size, count) = (u64_at(head, 40), u16_at(head, 58), u16_at(head, 60));
        let all = entries(&mut self.file, offset, size, count, 64);
        let place = |entry: &Vec<u8>| (u64_at(entry, 24), u64_at(entry, 32));
        let names = all.get(usize::from(u16_at(head, 62))).map(place);
        let names = names.and_then(|(offset, bytes)| part(&mut self.file, offset, bytes)).unwrap_or_default();
        for entry in &all {
            let (offset, bytes) = place(entry);
            let name = usize::try_from(u32_at(entry, 0)).ok().and_then(|at| text(&names, at));
            self.sections.push(Section { name: name.unwrap_or_default(), offset, bytes });
        }
    }

    /// Whether a loader starts it: without one it opens no library.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment.kind, DYNAMIC | INTERPRETER))
    }

    /// The contents of the first section of a name.
    pub(crate) fn section(&mut self, name: &str) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        part(&mut self.file, section.offset, section.bytes)
    }

    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// Its libraries and their search paths.
    pub(crate) fn dynamic(&mut self) -> Dynamic {
        let mut found = Dynamic::default();
        let Some(table) = self.segments.iter().find(|segment| segment.kind == DYNAMIC) else { return found };
        let table = part(&mut self.file, table.offset, table.bytes).unwrap_or_default();
        let tags: Vec<(u64, u64)> = table
            .chunks_exact(16)
            .take(MAX_ENTRIES)
            .map(|entry| (u64_at(entry, 0), u64_at(entry, 8)))
            .take_while(|(tag, _)| *tag != 0)
            .collect();
        let strings = tags.iter().find(|(tag, _)| *tag == STRINGS).map_or(0, |(_, address)| *address);
        for (tag, value) in tags {
            let mut name = || self.string(strings.checked_add(value)?);
            match tag {
                NEEDED => found.needed.extend(name()),
                RPATH => found.rpath = name(),
                RUNPATH => found.runpath = name(),
                _ => {}
            }
        }
        found
    }

    /// The text at an address of the loaded file.
    fn string(&mut self, address: u64) -> Option<String> {
        let segment = self.segments.iter().find(|segment| {
            segment.kind == LOAD && address.checked_sub(segment.address).is_some_and(|at| at < segment.bytes)
        })?;
        let at = address - segment.address;
        let length = (segment.bytes - at).min(4096);
        text(&part(&mut self.file, segment.offset.checked_add(at)?, length)?, 0)
    }

    /// The folders of a search path, with `$ORIGIN` filled in.
    pub(crate) fn folders(&self, path: &str) -> Vec<PathBuf> {
        let origin = self.folder.to_string_lossy();
        let filled = path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        filled.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
    }
}

fn entries(file: &mut File, offset: u64, size: u16, count: u16, least: usize) -> Vec<Vec<u8>> {
    let bytes = u64::from(size) * u64::from(count);
    if usize::from(size) < least {
        return Vec::new();
    }
    let table = part(file, offset, bytes).unwrap_or_default();
    table.chunks_exact(usize::from(size)).map(<[u8]>::to_vec).collect()
}

/// Bytes of the file, fewer at its end.
fn part(file: &mut File, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.take(bytes.min(MAX_PART)).read_to_end(&mut read).ok()?;
    Some(read)
}

fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(rest.get(..length)?).into_owned())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}
