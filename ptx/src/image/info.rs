//! The records of a `.nv.info` section: attributes of the module or of one function.

use super::ImageError;
use super::bytes::Bytes;

/// Values found in the output of ptxas 11.8, 12.4 and 13.0 for known sources.
pub(super) mod attribute {
    /// `.maxntid`: three u32.
    pub(crate) const MAX_THREADS: u8 = 0x05;
    /// `.reqntid`: three u32.
    pub(crate) const REQUIRED_THREADS: u8 = 0x10;
    /// Bytes of a function's stack frame: u32 symbol, u32 bytes.
    pub(crate) const FRAME: u8 = 0x11;
    /// A parameter: u32 0, u16 ordinal, u16 offset, u32 with the size in the upper 14 bits.
    pub(crate) const PARAMETER: u8 = 0x17;
    /// Bytes of all parameters, in the record itself.
    pub(crate) const PARAMETER_BYTES: u8 = 0x19;
    /// Registers of a function: u32 symbol, u32 count.
    pub(crate) const REGISTERS: u8 = 0x2f;
    /// `.reqnctapercluster`: three u32.
    pub(crate) const CLUSTER: u8 = 0x3d;
    /// `.explicitcluster`: no value.
    pub(crate) const EXPLICIT_CLUSTER: u8 = 0x3e;
    /// `.maxclusterrank`: u32.
    pub(crate) const MAX_CLUSTER_RANK: u8 = 0x3f;
    /// A parameter of a larger block: u32 0, u16 ordinal, u16 offset, u32 size.
    pub(crate) const LARGE_PARAMETER: u8 = 0x45;
    /// `.blocksareclusters`: no value.
    pub(crate) const BLOCKS_ARE_CLUSTERS: u8 = 0x5b;
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) attribute: u8,
    /// The two bytes after the attribute: a value, or the length of `data`.
    pub(super) value: u16,
    pub(super) data: Bytes<'a>,
    /// Offset in the file.
    pub(super) offset: usize,
}

impl Record<'_> {
    /// The data as `N` numbers.
    pub(super) fn words<const N: usize>(&self) -> Result<[u32; N], ImageError> {
        if self.data.len() != N * 4 {
            let (attribute, length) = (self.attribute, self.data.len());
            let message = format!("attribute {attribute:#04x} has {length} bytes instead of {}", N * 4);
            return Err(ImageError::corrupt(self.offset + 2, message));
        }
        Ok(std::array::from_fn(|i| self.data.u32(i * 4)))
    }
}

/// The records of a section at offset `base` of the file, up to the first one that is wrong.
pub(super) fn records(data: &[u8], base: usize) -> Records<'_> {
    Records { data, base, at: 0 }
}

/// The records from `at` on.
pub(super) struct Records<'a> {
    data: &'a [u8],
    base: usize,
    at: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, ImageError>;

    // Inlined into each loop, so that a record stays in registers; this saves a tenth of the instructions for an image of
    // many kernels.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let record = self.record();
        self.at = record.as_ref().map_or(self.data.len(), |record| self.at + 4 + record.data.len());
        Some(record)
    }
}

impl<'a> Records<'a> {
    /// The record at `at`.
    #[inline(always)]
    fn record(&self) -> Result<Record<'a>, ImageError> {
        let (here, at) = (self.base + self.at, self.at);
        let Some(&[format, attribute, low, high]) = self.data[at..].first_chunk() else {
            return Err(ImageError::corrupt(here, "an attribute record is truncated"));
        };
        let value = u16::from_le_bytes([low, high]);
        let length = match format {
            1..=3 => 0,
            4 => usize::from(value),
            _ => {
                let message = format!("attribute {attribute:#04x} has the unknown format {format}");
                return Err(ImageError::corrupt(here, message));
            }
        };
        let Some(body) = self.data.get(at + 4..at + 4 + length) else {
            let message = format!("attribute {attribute:#04x} of {length} bytes reaches beyond its section");
            return Err(ImageError::corrupt(here + 2, message));
        };
        Ok(Record { attribute, value, data: Bytes(body), offset: here })
    }
}
