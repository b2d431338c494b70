//! Rows and planes of elements: their layout in memory, and which of them a copy transfers.

#![allow(unsafe_code)] // Says that places may go to other threads.

use cuda_driver_sys::CUarray;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;

use crate::driver::CudaContext;
use crate::error::{Axis, Error, RegionError};
use crate::memory::allocation::Allocation;
use crate::ordering::Submission;

/// The number of elements that a copy transfers along each axis.
///
/// ```
/// use cuda_launch::memory::Extent;
/// assert_eq!(Extent::rows(640, 480), Extent { width: 640, height: 480, depth: 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Elements per row.
    pub width: usize,
    /// Rows per plane.
    pub height: usize,
    /// Planes, or layers of a layered array.
    pub depth: usize,
}

impl Extent {
    /// One plane of `height` rows.
    ///
    /// ```
    /// use cuda_launch::memory::Extent;
    /// assert_eq!(Extent::rows(4, 3).elements(), Some(12));
    /// ```
    pub const fn rows(width: usize, height: usize) -> Self {
        Self { width, height, depth: 1 }
    }

    /// `depth` planes.
    ///
    /// ```
    /// use cuda_launch::memory::Extent;
    /// assert_eq!(Extent::planes(4, 3, 2).elements(), Some(24));
    /// ```
    pub const fn planes(width: usize, height: usize, depth: usize) -> Self {
        Self { width, height, depth }
    }

    /// The total number of elements; `None` if it overflows.
    pub const fn elements(self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        match self.width.checked_mul(self.height) {
            Some(plane) => plane.checked_mul(self.depth),
            None => None,
        }
    }

    pub(in crate::memory) const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// Where a region starts, in elements, rows and planes.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::memory) struct Offset {
    pub(in crate::memory) x: usize,
    pub(in crate::memory) y: usize,
    pub(in crate::memory) z: usize,
}

/// The layout of rows and planes in linear memory.
///
/// ```
/// use cuda_launch::memory::RowLayout;
/// // An image of 100 x 50 floats without gaps: a row every 400 bytes.
/// assert_eq!(RowLayout::packed::<f32>(100, 50), RowLayout { pitch: 400, rows: 50 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// From the start of one row to the start of the next, in bytes.
    pub pitch: usize,
    /// From the start of one plane to the start of the next, in rows.
    pub rows: usize,
}

impl RowLayout {
    /// Rows of `width` elements and planes of `rows` rows, without gaps.
    ///
    /// ```
    /// use cuda_launch::memory::RowLayout;
    /// let layout = RowLayout::packed::<f32>(10, 3);
    /// assert_eq!((layout.pitch, layout.rows), (40, 3));
    /// ```
    pub const fn packed<T>(width: usize, rows: usize) -> Self {
        Self { pitch: width.saturating_mul(size_of::<T>()), rows }
    }
}

/// What memory one side of a copy is in.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) enum Place {
    /// Host memory; only written through if the side is a target.
    Host(*mut c_void),
    /// A device address.
    Device(u64),
    /// An array, whose layout is the driver's.
    Array(CUarray),
}

// SAFETY: an address or a handle. What is at it is borrowed by the type that has the place, and only the driver follows
// it, which copies the bytes of a `Copy` type, and so no cell; it does so for any thread, as it takes a CUarray from
// every one (`ArrayInner`).
unsafe impl Send for Place {}
// SAFETY: as above; nothing is written through a shared place.
unsafe impl Sync for Place {}

/// Memory of a device that copies access.
pub(in crate::memory) trait DeviceMemory: Debug + Send + Sync {
    /// The context that it is of.
    fn context(&self) -> &CudaContext;

    /// Notes that `work` accesses it.
    fn note(&self, work: &mut Submission<'_>, written: bool) -> Result<(), Error>;
}

impl DeviceMemory for Arc<Allocation> {
    fn context(&self) -> &CudaContext {
        Allocation::context(self)
    }

    fn note(&self, work: &mut Submission<'_>, written: bool) -> Result<(), Error> {
        Allocation::note(self, work, written)
    }
}

/// Whose memory one side is, and who notes its uses.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) enum Owner<'a> {
    /// The caller's, on the host.
    Host,
    /// A buffer's or an array's.
    Device(&'a dyn DeviceMemory),
}

impl<'a> Owner<'a> {
    /// The context of device memory.
    pub(in crate::memory) fn context(self) -> Option<&'a CudaContext> {
        match self {
            Self::Host => None,
            Self::Device(memory) => Some(memory.context()),
        }
    }

    /// Notes that `work` accesses the memory.
    pub(in crate::memory) fn note(self, work: &mut Submission<'_>, written: bool) -> Result<(), Error> {
        match self {
            Self::Host => Ok(()),
            Self::Device(memory) => memory.note(work, written),
        }
    }
}

/// How large the memory of one side is.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) enum Bounds {
    /// This many bytes, in rows and planes.
    Linear(usize, RowLayout),
    /// This many elements, rows and planes of linear memory, with gaps between them that no copy reaches.
    Rows(Extent, RowLayout),
    /// An array of this many elements, rows and planes.
    Array(Extent),
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Side<'a> {
    /// "source" or "target", for errors.
    pub(in crate::memory) name: &'static str,
    pub(in crate::memory) place: Place,
    pub(in crate::memory) bounds: Bounds,
    pub(in crate::memory) origin: Offset,
    pub(in crate::memory) owner: Owner<'a>,
}

impl Side<'_> {
    /// Bytes from row to row and rows from plane to plane; both 0 for an array.
    pub(in crate::memory) fn layout(&self) -> RowLayout {
        match self.bounds {
            Bounds::Linear(_, layout) | Bounds::Rows(_, layout) => layout,
            Bounds::Array(_) => RowLayout { pitch: 0, rows: 0 },
        }
    }

    /// Whether it is host memory, which is borrowed only as long as the call lasts.
    pub(in crate::memory) fn is_host(&self) -> bool {
        matches!(self.owner, Owner::Host)
    }

    /// An error unless `extent` elements of `size` bytes from the origin on lie inside.
    pub(in crate::memory) fn check(&self, extent: Extent, size: usize) -> Result<(), Error> {
        if extent.is_empty() {
            return Ok(());
        }
        match self.bounds {
            Bounds::Array(whole) | Bounds::Rows(whole, _) => {
                self.fits(Axis::X, extent.width, whole.width)?;
                self.fits(Axis::Y, extent.height, whole.height)?;
                self.fits(Axis::Z, extent.depth, whole.depth)
            }
            Bounds::Linear(len, layout) => {
                self.fits(Axis::X, extent.width, layout.pitch.checked_div(size).unwrap_or(usize::MAX))?;
                self.fits(Axis::Y, extent.height, layout.rows)?;
                self.ends_inside(extent, size, len, layout)
            }
        }
    }

    fn fits(&self, axis: Axis, count: usize, limit: usize) -> Result<(), Error> {
        let start = match axis {
            Axis::X => self.origin.x,
            Axis::Y => self.origin.y,
            Axis::Z => self.origin.z,
        };
        if start.checked_add(count).is_some_and(|end| end <= limit) {
            return Ok(());
        }
        Err(RegionError::OutOfBounds { side: self.name, axis, start, count, limit }.into())
    }

    /// Whether the last row ends inside the memory. Rows and planes fit their pitches already.
    fn ends_inside(&self, extent: Extent, size: usize, len: usize, layout: RowLayout) -> Result<(), Error> {
        // Sums of numbers of 64 bits fit 128, most products do, and what does not is past the end of all memory.
        let wide = |n: usize| n as u128;
        let last = |start: usize, count: usize| wide(start) + wide(count) - 1;
        let planes = last(self.origin.z, extent.depth).saturating_mul(wide(layout.rows));
        let last_row = planes.saturating_add(last(self.origin.y, extent.height));
        let last_bytes = (wide(self.origin.x) + wide(extent.width)).saturating_mul(wide(size));
        let end = last_row.saturating_mul(wide(layout.pitch)).saturating_add(last_bytes);
        if end <= wide(len) {
            return Ok(());
        }
        Err(RegionError::TooShort { side: self.name, len, pitch: layout.pitch, end }.into())
    }
}

impl From<RegionError> for Error {
    fn from(error: RegionError) -> Self {
        crate::error::ErrorKind::Region(error).into()
    }
}
