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
