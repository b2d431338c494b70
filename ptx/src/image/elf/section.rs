//! The section table: what its headers say.

use super::tables::{CUDA_GLOBAL_INIT, NOBITS, NULL, VENDOR, WRITE};
use super::{Bytes, ImageError, strings};

/// Bytes of a section header.
pub(super) const SIZE: usize = 64;

/// The sections of a file, whose headers lie inside it.
#[derive(Clone, Copy)]
pub(in crate::image) struct Sections<'a> {
    file: &'a [u8],
    headers: &'a [[u8; SIZE]],
    /// Offset of the first header.
    start: usize,
    /// The string table with their names.
    names: &'a [u8],
}

/// A section, by its header.
#[derive(Clone, Copy)]
pub(in crate::image) struct Section<'a> {
    file: &'a [u8],
    fields: &'a [u8; SIZE],
    names: &'a [u8],
    /// Offset of the header in the file.
    pub(super) header: usize,
}

impl<'a> Sections<'a> {
    /// The headers in `table`, which begins at `start`. They have no names yet.
    pub(super) fn new(file: Bytes<'a>, table: &'a [u8], start: usize) -> Self {
        Self { file: file.0, headers: table.as_chunks().0, start, names: &[] }
    }

    /// The same with names from this table.
    pub(super) fn with_names(self, table: &Section<'a>) -> Self {
        Self { names: table.data(), ..self }
    }

    pub(in crate::image) fn len(self) -> usize {
        self.headers.len()
    }

    #[inline(always)]
    pub(in crate::image) fn get(self, index: u32) -> Option<Section<'a>> {
        let fields = self.headers.get(index as usize)?;
        let header = self.start + index as usize * SIZE;
        Some(Section { file: self.file, fields, names: self.names, header })
    }

    #[inline(always)]
    pub(in crate::image) fn iter(self) -> impl Iterator<Item = Section<'a>> + Clone {
        self.headers.iter().enumerate().map(move |(index, fields)| {
            let header = self.start + index * SIZE;
            Section { file: self.file, fields, names: self.names, header }
        })
    }
}

impl<'a> Section<'a> {
    #[inline(always)]
    fn field(&self, offset: usize) -> u32 {
        Bytes(self.fields).u32(offset)
    }

    #[inline(always)]
    fn wide(&self, offset: usize) -> u64 {
        Bytes(self.fields).u64(offset)
    }

    /// Index of the name in its table.
    #[inline(always)]
    pub(super) fn name_index(&self) -> u32 {
        self.field(0)
    }

    /// `sh_type`.
    #[inline(always)]
    pub(in crate::image) fn kind(&self) -> u32 {
        self.field(4)
    }

    #[inline(always)]
    pub(super) fn flags(&self) -> u64 {
        self.wide(8)
    }

    /// Bytes in memory; those in the file are [`data`](Self::data).
    #[inline(always)]
    pub(in crate::image) fn size(&self) -> u64 {
        self.wide(32)
    }

    #[inline(always)]
    pub(super) fn link(&self) -> u32 {
        self.field(40)
    }

    /// `sh_info`: meaning by type.
    #[inline(always)]
    pub(in crate::image) fn info(&self) -> u32 {
        self.field(44)
    }

    #[inline(always)]
    pub(super) fn alignment(&self) -> u64 {
        self.wide(48)
    }

    #[inline(always)]
    fn entry_size(&self) -> u64 {
        self.wide(56)
    }

    /// Whether it has contents in the file. A section that a program writes to and that has no initial values has only a size: global,
    /// local and shared memory.
    #[inline(always)]
    pub(super) fn has_data(&self) -> bool {
        let kind = self.kind();
        let size_only = kind >= VENDOR && self.flags() & WRITE != 0 && kind != CUDA_GLOBAL_INIT;
        !matches!(kind, NULL | NOBITS) && !size_only
    }

    /// Offset of the contents in the file; what the header says, which may be anything before it is checked.
    #[inline(always)]
    pub(super) fn place(&self) -> u64 {
        self.wide(24)
    }

    /// The same for a section that was checked.
    #[inline(always)]
    pub(in crate::image) fn offset(&self) -> usize {
        if self.has_data() { self.place() as usize } else { 0 }
    }

    /// The contents; empty for a section that has only a size in memory.
    #[inline(always)]
    pub(in crate::image) fn data(&self) -> &'a [u8] {
        if !self.has_data() {
            return &[];
        }
        let start = self.place() as usize;
        self.file.get(start..start.saturating_add(self.size() as usize)).unwrap_or_default()
    }

    pub(in crate::image) fn name(&self) -> &'a str {
        strings::checked(self.names, self.name_index())
    }

    /// The bytes of the name.
    #[inline(always)]
    pub(super) fn name_bytes(&self) -> &'a [u8] {
        strings::until_nul(self.names, self.name_index())
    }

    #[inline(always)]
    pub(in crate::image) fn is_named(&self, name: &str) -> bool {
        self.after(name).is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The name after `prefix`.
    #[inline(always)]
    pub(in crate::image) fn name_after(&self, prefix: &str) -> Option<&'a str> {
        self.after(prefix)?;
        self.name().strip_prefix(prefix)
    }

    /// The bytes of the table of names after `prefix`, if the name begins with that.
    #[inline(always)]
    fn after(&self, prefix: &str) -> Option<&'a [u8]> {
        self.names.get(self.name_index() as usize..)?.strip_prefix(prefix.as_bytes())
    }

    /// Number of entries of a table whose entries must have `size` bytes.
    pub(super) fn entries(&self, size: u64) -> Result<u64, ImageError> {
        if self.entry_size() != size {
            let (name, own) = (self.name(), self.entry_size());
            let message = format!("entries of `{name}` have {own} bytes instead of {size}");
            return Err(ImageError::corrupt(self.header + 56, message));
        }
        if !self.size().is_multiple_of(size) {
            let (name, own) = (self.name(), self.size());
            let message = format!("`{name}` has {own} bytes, which is not a multiple of {size}");
            return Err(ImageError::corrupt(self.header + 32, message));
        }
        Ok(self.size() / size)
    }

    pub(super) fn bad_link(&self, what: &str) -> ImageError {
        let message = format!("`{}` links section {}, which is not {what}", self.name(), self.link());
        ImageError::corrupt(self.header + 40, message)
    }
}
