//! Copies, fills and views that are out of bounds for their memory.

use thiserror::Error;

use super::launch::Axis;

/// A copy of rows and planes that would be out of bounds on one side; nothing was submitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionError {
    /// The region reaches past the end of a row, plane or volume.
    #[error(
        "copy_region: the {side} has {limit} elements along {axis}; {count} elements from {start} on end at {}\n  help: copy a smaller extent, \
         or start earlier",
        start.saturating_add(*count)
    )]
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
    #[error(
        "the {side}'s pitch of {pitch} bytes is not a multiple of the element size, {size} bytes\n  help: pad the rows to a \
         multiple of {size} bytes"
    )]
    Pitch {
        /// "source" or "target".
        side: &'static str,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Size of an element, in bytes.
        size: usize,
    },
    /// The memory behind a row layout is too short for the region.
    #[error(
        "copy_region: the {side} has {len} bytes; with rows of {pitch} bytes the region ends at byte {end}\n  help: the pitch is in bytes, and \
         the extent in elements"
    )]
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

/// A range that is out of bounds for a buffer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("range {range} is not inside a buffer of {len} elements\n  help: all of it is 0..{len}")]
#[non_exhaustive]
pub struct IndexRange {
    /// The range, as it was written.
    pub range: String,
    /// The number of elements available.
    pub len: usize,
}

/// Device memory that cannot be viewed as elements of another type.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CastError {
    /// The number of bytes is not a multiple of the element size.
    #[error(
        "cannot cast {from} to {to}: {bytes} bytes are not a multiple of the element size, {size}\n  help: slice the view first"
    )]
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
    #[error(
        "cannot cast {from} to {to}: the view starts at {address:#x}, which is not aligned to {align} bytes\n  help: slice it from an element \
         that is"
    )]
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

/// Two lengths that must be equal differ.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{call}: the source has {source_len} elements, the destination {destination_len}\n  help: slice one of them"
)]
#[non_exhaustive]
pub struct LengthMismatch {
    /// The function of this crate.
    pub call: &'static str,
    /// The number of elements in the source.
    pub source_len: usize,
    /// The number of elements in the destination.
    pub destination_len: usize,
}
