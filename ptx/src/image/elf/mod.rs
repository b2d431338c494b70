//! ELF64 (System V ABI, "Object Files"), as far as cubins use it. Everything that a driver follows is checked.
//!
//! The checks beyond the ABI were found with a driver (580 on an H200). It was given two cubins with 30,000 single-byte
//! changes that the ABI's rules accept: each of the 417 that crashed it breaks a rule that is checked here now, except
//! for one (an external function that became a texture). Of 28,000 random changes of seven cubins that pass all checks,
//! none crashed it.

mod contents;
mod strings;
mod tables;

use super::ImageError;
use super::bytes::Bytes;
use tables::Tables;
pub(super) use tables::{OSABI_CUDA_13, SECTION_INFO};

/// A checked ELF file.
#[derive(Clone, Debug)]
pub(super) struct Elf<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) symbols: Vec<Symbol<'a>>,
    /// End of the last byte that belongs to the file.
    pub(super) extent: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) kind: u32,
    /// Offset of the contents in the file.
    pub(super) offset: usize,
    /// The contents; empty for a section that has only a size in memory.
    pub(super) data: &'a [u8],
    /// `sh_info`: meaning by type.
    pub(super) info: u32,
    /// Offset of the section's header in the file.
    header: usize,
    /// Bytes in memory; those in the file are `data`.
    pub(super) size: u64,
    link: u32,
    entry_size: u64,
    flags: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    /// Binding and type.
    pub(super) info: u8,
    pub(super) other: u8,
    /// Index of its section.
    pub(super) section: u32,
}

impl<'a> Elf<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, ImageError> {
        let bytes = Bytes(data);
        let Tables { sections, extent } = tables::read(bytes)?;
        let symbols = contents::symbols(&sections)?;
        contents::check(&sections, &symbols)?;
        Ok(Self { bytes, sections, symbols, extent })
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Bytes in memory of a section; 0 if there is none.
    pub(super) fn bytes_of(&self, name: &str) -> u32 {
        self.section(name).map_or(0, |section| u32::try_from(section.size).unwrap_or(u32::MAX))
    }
}

impl Symbol<'_> {
    /// Type of a function in the low half of `st_info`.
    const FUNCTION: u8 = 2;
    /// Bit of `st_other` that distinguishes a kernel from a device function.
    const KERNEL: u8 = 0x10;

    pub(super) fn is_kernel(&self) -> bool {
        self.info & 0xf == Self::FUNCTION && self.other & Self::KERNEL != 0
    }
}

impl<'a> Section<'a> {
    /// Number of entries of a table whose entries must have `size` bytes.
    fn entries(&self, size: u64) -> Result<u64, ImageError> {
        if self.entry_size != size {
            let message =
                format!("entries of `{}` have {} bytes instead of {size}", self.name, self.entry_size);
            return Err(ImageError::corrupt(self.header + 56, message));
        }
        if !self.size.is_multiple_of(size) {
            let message =
                format!("`{}` has {} bytes, which is not a multiple of {size}", self.name, self.size);
            return Err(ImageError::corrupt(self.header + 32, message));
        }
        Ok(self.size / size)
    }

    fn bad_link(&self, what: &str) -> ImageError {
        let message = format!("`{}` links section {}, which is not {what}", self.name, self.link);
        ImageError::corrupt(self.header + 40, message)
    }
}
