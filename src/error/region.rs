//! Copies, fills and views that are out of bounds for their memory.

use std::fmt;

use super::launch::Axis;

/// A copy of rows and planes that would be out of bounds on one side; nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The region reaches past the end of a row, plane or volume.
    OutOfBounds {
        /// "source" or "target".
        side: &'static str,
        /// The axis along which it does not fit.
        axis: Axis,
        /// Where the region starts, in elements.
        start: usize,
        /// Its extent, in elements.
        count: usize,
        /// The number of elements available.
        limit: usize,
    },
    /// A pitch that the driver counts in elements is not a multiple of the element size.
    Pitch {
        /// "source" or "target".
        side: &'static str,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Size of an element, in bytes.
        size: usize,
    },
    /// The memory behind a row layout is too short for the region.
    TooShort {
        /// "source" or "target".
        side: &'static str,
        /// Size of the memory, in bytes.
        len: usize,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Where the region ends, in bytes.
        end: u128,
    },
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { side, axis, start, count, limit } => write!(
                f,
                "copy_region: the {side} has {limit} elements along {axis}; {count} starting at {start} end at {}",
                start.saturating_add(*count)
            ),
            Self::Pitch { side, pitch, size } => write!(
                f,
                "the {side}'s pitch of {pitch} bytes is not a multiple of the element size, {size} bytes"
            ),
            Self::TooShort { side, len, pitch, end } => write!(
                f,
                "copy_region: the {side} has {len} bytes; with rows of {pitch} bytes the region ends at byte {end}"
            ),
        }
    }
}

impl std::error::Error for RegionError {}

/// A range that is out of bounds for a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexRange {
    /// The range, as it was written.
    pub range: String,
    /// The number of elements available.
    pub len: usize,
}

impl fmt::Display for IndexRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, len } = self;
        write!(f, "range {range} is not inside a buffer of {len} elements")
    }
}

impl std::error::Error for IndexRange {}

/// Device memory that cannot be viewed as elements of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CastError {
    /// The number of bytes is not a multiple of the element size.
    Size {
        /// The current element type.
        from: &'static str,
        /// The requested element type.
        to: &'static str,
        /// Size of the view, in bytes.
        bytes: usize,
        /// Size of the requested element, in bytes.
        size: usize,
    },
    /// The address is misaligned for the element.
    Alignment {
        /// The current element type.
        from: &'static str,
        /// The requested element type.
        to: &'static str,
        /// Where the view starts.
        address: u64,
        /// Alignment of the requested element, in bytes.
        align: usize,
    },
}

impl fmt::Display for CastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { from, to, bytes, size } => write!(
                f,
                "cannot cast {from} to {to}: {bytes} bytes are not a multiple of the element size, {size}; slice the view first"
            ),
            Self::Alignment { from, to, address, align } => write!(
                f,
                "cannot cast {from} to {to}: the view starts at {address:#x}, which is not aligned to {align} bytes"
            ),
        }
    }
}

impl std::error::Error for CastError {}

/// Two lengths that must be equal differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LengthMismatch {
    /// The function of this crate.
    pub call: &'static str,
    /// The number of elements in the source.
    pub source_len: usize,
    /// The number of elements in the destination.
    pub destination_len: usize,
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, source_len, destination_len } = self;
        write!(
            f,
            "{call}: the source has {source_len} elements, the destination {destination_len}; slice one of them"
        )
    }
}

impl std::error::Error for LengthMismatch {}
