//! Little-endian fields at checked offsets.

use std::fmt;

use super::ImageError;

/// The bytes of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn len(self) -> usize {
        self.0.len()
    }

    /// `length` bytes at `offset`. Both numbers come from the image and may have any value.
    pub(super) fn range(
        self,
        offset: u64,
        length: u64,
        what: impl fmt::Display,
    ) -> Result<&'a [u8], ImageError> {
        let end = offset.saturating_add(length);
        let found = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        found
            .and_then(|(start, end)| self.0.get(start..end))
            .ok_or_else(|| ImageError::truncated(self.len(), end, &what.to_string()))
    }

    fn field<const N: usize>(self, offset: usize) -> [u8; N] {
        // Fields are read only inside a range that has been checked; a missing one would read as zero.
        self.0.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    pub(super) fn u8(self, offset: usize) -> u8 {
        self.field::<1>(offset)[0]
    }

    pub(super) fn u16(self, offset: usize) -> u16 {
        u16::from_le_bytes(self.field(offset))
    }

    pub(super) fn u32(self, offset: usize) -> u32 {
        u32::from_le_bytes(self.field(offset))
    }

    pub(super) fn u64(self, offset: usize) -> u64 {
        u64::from_le_bytes(self.field(offset))
    }
}
