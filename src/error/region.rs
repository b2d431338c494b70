//! Copies, fills and views that do not fit the memory they are asked for.

use thiserror::Error;

use super::kinds::Axis;

/// A copy of rows and planes that would leave the memory of one side; nothing was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The region reaches past the end of a row, plane or volume.
    #[error(
        "copy_region: the {side} has {limit} elements along {axis}; {count} from {start} on end at {}",
        start.saturating_add(*count)
    )]
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
    #[error("the {side}'s pitch of {pitch} bytes is no whole number of elements of {size} bytes")]
    Pitch {
        /// "source" or "target".
        side: &'static str,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Bytes of an element.
        size: usize,
    },
    /// The memory behind a row layout is too short for the region.
    #[error(
        "copy_region: the {side} has {len} bytes; with rows of {pitch} bytes the region ends at byte {end}"
    )]
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

/// A range that is not inside a buffer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("range {range} is not inside a buffer of {len} elements")]
#[non_exhaustive]
pub struct IndexRange {
    /// The range, as it was written.
    pub range: String,
    /// Elements that there are.
    pub len: usize,
}

/// Device memory that cannot be seen as elements of another type.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CastError {
    /// The bytes are no whole number of elements.
    #[error(
        "cannot cast {from} to {to}: {bytes} bytes are no whole number of elements of {size}; slice the view first"
    )]
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
    #[error(
        "cannot cast {from} to {to}: the view starts at {address:#x}, its elements at multiples of {align} bytes"
    )]
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
