//! Copies, fills and views that do not fit the memory they are asked for.

use super::launch::Axis;
use std::fmt;

/// A copy of rows and planes that would leave the memory of one side; nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The region reaches past the end of a row, plane or volume.
    OutOfBounds {
        /// "source" or "target".
        side: &'static str,
        /// The direction in which it does not fit.
        axis: Axis,
        /// Where the region starts, in elements.
        start: usize,
        /// How far it goes, in elements.
        count: usize,
        /// How many elements there are.
        limit: usize,
    },
    /// A pitch that the driver counts in elements is no whole number of them.
    Pitch {
        /// "source" or "target".
        side: &'static str,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Bytes of an element.
        size: usize,
    },
    /// The memory behind a row layout is too short for the region.
    TooShort {
        /// "source" or "target".
        side: &'static str,
        /// Bytes of memory.
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
                "copy_region: the {side} has {limit} elements along {axis}; {count} from {start} on end at {}",
                start.saturating_add(*count)
            ),
            Self::Pitch { side, pitch, size } => write!(
                f,
                "the {side}'s pitch of {pitch} bytes is no whole number of elements of {size} bytes"
            ),
            Self::TooShort { side, len, pitch, end } => write!(
                f,
                "copy_region: the {side} has {len} bytes; with rows of {pitch} bytes the region ends at byte {end}"
            ),
        }
    }
}

impl std::error::Error for RegionError {}

/// A range that is not inside a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// The range, as it was written.
    pub range: String,
    /// Elements that there are.
    pub len: usize,
}

impl fmt::Display for IndexRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, len } = self;
        write!(f, "range {range} is not inside a buffer of {len} elements")
    }
}

impl std::error::Error for IndexRange {}

/// Device memory that cannot be seen as elements of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CastError {
    /// The bytes are no whole number of elements.
    Size {
        /// The element it has.
        from: &'static str,
        /// The element asked for.
        to: &'static str,
        /// Bytes of the view.
        bytes: usize,
        /// Bytes of the element asked for.
        size: usize,
    },
    /// The address is not aligned for the element.
    Alignment {
        /// The element it has.
        from: &'static str,
        /// The element asked for.
        to: &'static str,
        /// Where the view starts.
        address: u64,
        /// Alignment of the element asked for, in bytes.
        align: usize,
    },
}

impl fmt::Display for CastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { from, to, bytes, size } => write!(
                f,
                "cannot cast {from} to {to}: {bytes} bytes are no whole number of elements of {size}; slice the view first"
            ),
            Self::Alignment { from, to, address, align } => write!(
                f,
                "cannot cast {from} to {to}: the view starts at {address:#x}, its elements at multiples of {align} bytes"
            ),
        }
    }
}

impl std::error::Error for CastError {}
