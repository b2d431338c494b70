//! String tables.

use std::ffi::CStr;

use super::{ImageError, Section};

/// A string table in use.
pub(super) struct Strings<'a> {
    data: &'a [u8],
    offset: usize,
    /// Bytes of names that may still be read. Names can share bytes; in a hostile file, millions of names share
    /// millions of bytes.
    budget: usize,
}

impl<'a> Strings<'a> {
    pub(super) fn new(section: &Section<'a>) -> Self {
        let budget = section.data.len().saturating_mul(64).saturating_add(4096);
        Self { data: section.data, offset: section.offset, budget }
    }

    /// The string at `index`; `field` is the offset of the field that contains the index, for errors.
    pub(super) fn at(&mut self, index: u32, field: usize) -> Result<&'a str, ImageError> {
        let rest = self.data.get(index as usize..).unwrap_or_default();
        let Ok(name) = CStr::from_bytes_until_nul(&rest[..rest.len().min(self.budget)]) else {
            let message = format!("name at {index} of a string table of {} bytes", self.data.len());
            return Err(ImageError::corrupt(field, message));
        };
        self.budget -= name.count_bytes();
        name.to_str()
            .map_err(|_| ImageError::corrupt(self.offset + index as usize, "a name that is not UTF-8"))
    }
}
