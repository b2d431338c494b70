//! The symbol table: what its entries say.

use super::{Bytes, Section, strings};

/// Bytes of a symbol.
pub(super) const SIZE: usize = 24;
/// In the place of a section's index: it is in the other table.
const IN_OTHER_TABLE: u16 = 0xffff;

/// The symbols of a file.
#[derive(Clone, Copy)]
pub(in crate::image) struct Symbols<'a> {
    entries: &'a [[u8; SIZE]],
    names: &'a [u8],
    /// The indices of sections that need 32 bits, if there is such a table.
    indices: Option<&'a [u8]>,
}

/// A symbol, by its entry.
#[derive(Clone, Copy)]
pub(in crate::image) struct Symbol<'a> {
    fields: &'a [u8; SIZE],
    names: &'a [u8],
    /// Index of its section.
    pub(in crate::image) section: u32,
}

impl<'a> Symbols<'a> {
    /// No symbols.
    pub(super) const NONE: Self = Self { entries: &[], names: &[], indices: None };

    pub(super) fn new(table: &Section<'a>, names: &Section<'a>, indices: Option<&'a [u8]>) -> Self {
        Self { entries: table.data().as_chunks().0, names: names.data(), indices }
    }

    pub(in crate::image) fn len(self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    pub(in crate::image) fn iter(self) -> impl Iterator<Item = Symbol<'a>> + Clone {
        self.entries.iter().enumerate().map(move |(index, fields)| {
            let section = match (Bytes(fields).u16(6), self.indices) {
                (IN_OTHER_TABLE, Some(indices)) => Bytes(indices).u32(index * 4),
                (section, _) => u32::from(section),
            };
            Symbol { fields, names: self.names, section }
        })
    }

    /// Whether the indices of sections are in a table of their own.
    pub(super) fn has_indices(self) -> bool {
        self.indices.is_some()
    }
}

impl<'a> Symbol<'a> {
    /// Type of a function in the low half of `st_info`.
    const FUNCTION: u8 = 2;
    /// Bit of `st_other` that distinguishes a kernel from a device function.
    const KERNEL: u8 = 0x10;

    #[inline(always)]
    pub(in crate::image) fn is_kernel(&self) -> bool {
        self.kind() == Self::FUNCTION && self.fields[5] & Self::KERNEL != 0
    }

    /// Type: the low half of `st_info`.
    #[inline(always)]
    pub(super) fn kind(&self) -> u8 {
        self.fields[4] & 0xf
    }

    /// Index of the name in its table.
    #[inline(always)]
    pub(super) fn name_index(&self) -> u32 {
        Bytes(self.fields).u32(0)
    }

    pub(in crate::image) fn name(&self) -> &'a str {
        strings::checked(self.names, self.name_index())
    }

    /// Position in its section.
    #[inline(always)]
    pub(super) fn value(&self) -> u64 {
        Bytes(self.fields).u64(8)
    }

    /// Bytes.
    #[inline(always)]
    pub(super) fn size(&self) -> u64 {
        Bytes(self.fields).u64(16)
    }
}
