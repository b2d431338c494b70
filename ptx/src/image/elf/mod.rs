//! ELF64 (System V ABI, "Object Files"), as far as cubins use it. Everything that a driver follows is checked.
//!
//! The checks beyond the ABI were found with a driver (580 on an H200). It was given two cubins with 30,000 single-byte
//! changes that the ABI's rules accept: each of the 417 that crashed it breaks a rule that is checked here now, except
//! for one (an external function that became a texture). Of 28,000 random changes of seven cubins that pass all checks,
//! none crashed it.
//!
//! Sections and symbols are read from the bytes where they are asked for. An image of 1,500 kernels has 4,500 of both, and lists of
//! them would be larger than all that the checks read.

mod contents;
mod overlap;
mod section;
mod strings;
mod symbol;
mod tables;

use super::ImageError;
use super::bytes::Bytes;
pub(super) use section::{Section, Sections};
pub(super) use symbol::{Symbol, Symbols};
pub(super) use tables::{OSABI_CUDA_13, SECTION_INFO};

/// A checked ELF file.
#[derive(Clone, Copy)]
pub(super) struct Elf<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) sections: Sections<'a>,
    pub(super) symbols: Symbols<'a>,
    /// End of the last byte that belongs to the file.
    pub(super) extent: usize,
}

impl<'a> Elf<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, ImageError> {
        let bytes = Bytes(data);
        let (sections, extent) = tables::read(bytes)?;
        let symbols = contents::symbols(sections)?;
        contents::check(sections, symbols)?;
        Ok(Self { bytes, sections, symbols, extent })
    }

    pub(super) fn section(&self, name: &str) -> Option<Section<'a>> {
        self.sections.iter().find(|section| section.is_named(name))
    }

    /// Bytes in memory of a section; 0 if there is none.
    pub(super) fn bytes_of(&self, name: &str) -> u32 {
        self.section(name).map_or(0, |section| u32::try_from(section.size()).unwrap_or(u32::MAX))
    }
}
