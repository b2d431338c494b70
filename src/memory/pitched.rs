//! Rows of elements, aligned as the device prefers.

#![allow(unsafe_code)] // Calls of the driver on memory that this value owns.

use std::ffi::c_uint;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::aligned::{OF_DEVICE, aligned};
use super::allocation::{Allocation, Origin};
use super::buffer::byte_len;
use super::buffer::view::{DeviceView, DeviceViewMut};
use super::copy::layout::{Bounds, Extent, Owner, Place, RowLayout};
use super::copy::region::{CopySource, CopyTarget};
use super::device_copy::DeviceCopy;
use super::fill::{FillElement, Rows, Word, fill_rows};
use super::pointer::{DevicePtr, DevicePtrMut};
use crate::driver::{CudaContext, CudaStream};
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::ordering::Submission;

/// `height` rows of `width` elements, each row aligned for efficient access.
///
/// Rows are padded: [`PitchedBuffer::pitch`] is the distance from the start of one row to the start of the next.
/// Dropping it waits for all work on its device (`cuMemFree` does).
///
/// A kernel `f(T *rows, size_t pitch, ..)` takes it as `pitched(x)` or `pitched_mut(x)`: two parameters of 8 bytes, its address and
/// its pitch in bytes. It is ordered, borrowed and kept as buffers are.
///
/// ```
/// use cuda_launch::memory::PitchedBuffer;
/// use cuda_launch::CudaContext;
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
/// image.copy_from_host(&stream, &[1, 2, 3, 4, 5, 6])?;
/// assert!(image.pitch() >= 3);
/// assert_eq!(image.to_host_vec(&stream)?, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// A typed module declares `&PitchedBuffer<T>` or `&mut PitchedBuffer<T>`, and contracts may ask for its width and height:
///
/// ```
/// use cuda_launch::memory::PitchedBuffer;
/// use cuda_launch::{CudaContext, LaunchConfig, cuda_launch, cuda_module};
///
/// #[cuda_module("tests/kernels/handwritten/words.ptx")]
/// mod kernels {
///     use cuda_launch::memory::PitchedBuffer;
///
///     unsafe extern "C" {
///         /// Ten times the image: a block for each row, a thread for each column.
///         #[launch_contract(grid = (image.height() as u32, 1, 1), requires = (
///             image.height() == out.height(), width as usize <= image.width(), width as usize <= out.width()
///         ))]
///         pub safe fn rows(image: &PitchedBuffer<u32>, out: &mut PitchedBuffer<u32>, width: u32);
///     }
/// }
///
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut image = PitchedBuffer::<u32>::uninit(&stream, 3, 2)?;
/// let mut out = PitchedBuffer::<u32>::uninit(&stream, 3, 2)?;
/// image.copy_from_host(&stream, &[1, 2, 3, 4, 5, 6])?;
/// let module = kernels::load(&ctx)?;
/// let config = LaunchConfig::new((2, 1, 1), (32, 1, 1));
/// module.rows(&stream, config, &image, &mut out, 3)?;
/// assert_eq!(out.to_host_vec(&stream)?, [10, 20, 30, 40, 50, 60]);
///
/// // SAFETY: 1: `rows` takes two images and a width; 2, 5, 6: it uses 3 numbers of each of the 2 rows that both have,
/// // writes numbers, and ends; 3, 4: `pitched` and `pitched_mut` order its uses and the end of the images, which are
/// // of the stream's context.
/// unsafe {
///     cuda_launch! { kernel: rows, module: module.as_module(), stream: stream, config: config,
///                    args: [pitched(out), pitched_mut(image), 3u32] }
/// }?;
/// assert_eq!(image.to_host_vec(&stream)?, [100, 200, 300, 400, 500, 600]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuMemAllocPitch")]
pub struct PitchedBuffer<T: DeviceCopy> {
    address: u64,
    allocation: Arc<Allocation>,
    width: usize,
    height: usize,
    pitch: usize,
    of: PhantomData<T>,
}

/// References to what is passed to a kernel for pitched rows.
#[derive(Debug)]
pub(crate) struct RowParts<'a, T: DeviceCopy> {
    pub(crate) address: &'a u64,
    pub(crate) pitch: &'a usize,
    pub(crate) allocation: &'a Arc<Allocation>,
    of: PhantomData<&'a [T]>,
}

impl<T: DeviceCopy> Clone for RowParts<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for RowParts<'_, T> {}

impl<T: DeviceCopy> PitchedBuffer<T> {
    /// Allocates `height` rows of `width` elements and leaves them uninitialised.
    ///
    /// Driver call: `cuMemAllocPitch`, none if there are no elements. The context is that of the stream.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let image = PitchedBuffer::<f32>::uninit(&stream, 100, 50)?;
    /// assert!(image.pitch() >= 400);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], also if the number of elements overflows; [`Error::is_misaligned`] for elements
    /// whose alignment exceeds that of the driver's memory or of its rows; or any error returned by the driver.
    pub fn uninit(stream: &CudaStream, width: usize, height: usize) -> Result<Self, Error> {
        let (context, size) = (stream.context(), size_of::<T>());
        let overflow = |len| Error::from(ErrorKind::Capacity { len, size });
        let row = width.checked_mul(size).ok_or_else(|| overflow(width))?;
        // Elements without a size are counted too.
        let len = width.checked_mul(height).ok_or_else(|| overflow(width.saturating_mul(height)))?;
        byte_len::<T>(len)?;
        let (allocation, pitch) = if row != 0 && height != 0 {
            stream.refuse_in_capture("cuMemAllocPitch")?;
            context.make(
                "cuMemAllocPitch",
                || format!("{height} rows of {width} elements of {size} bytes"),
                // SAFETY: `make` made the context current; both places outlive the call.
                |driver, (address, pitch)| unsafe {
                    driver.cuMemAllocPitch(address, pitch, row, height, Self::access())
                },
                |(address, pitch)| {
                    // SAFETY: 1: it was just allocated, in this context, to be freed by `cuMemFree`; its address is in this function alone.
                    (unsafe { Allocation::new(address, context, Origin::Plain) }, pitch)
                },
            )?
        } else {
            (Allocation::empty(context), row)
        };
        let address = allocation.address();
        if address != 0 {
            aligned::<T>(address, "cuMemAllocPitch", OF_DEVICE)?;
            // The second row.
            aligned::<T>(address.wrapping_add(pitch as u64), "cuMemAllocPitch", OF_DEVICE)?;
        }
        Ok(Self { address, allocation, width, height, pitch, of: PhantomData })
    }

    /// The widest access that a kernel makes to its elements, for which the driver aligns rows: 4, 8 or 16 bytes.
    fn access() -> c_uint {
        match size_of::<T>() {
            0..=4 => 4,
            size if size.is_multiple_of(16) => 16,
            size if size.is_multiple_of(8) => 8,
            _ => 4,
        }
    }

    /// Copies `source`, row by row without gaps, over all elements; returns when the copy is complete.
    ///
    /// Driver calls: `cuMemcpy2DAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
    /// image.copy_from_host(&stream, &[1, 2, 3, 4, 5, 6])?; // without padding
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        self.same_len("copy_from_host", source.len(), self.len())?;
        let (extent, layout) = (self.extent(), RowLayout::packed::<T>(self.width, self.height));
        stream.copy_region(&CopySource::host(source, layout), &mut self.as_target(), extent)
    }

    /// Copies all elements, row by row without gaps, to `target`; returns when the copy is complete.
    ///
    /// Driver calls: `cuMemcpy2DAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
    /// image.fill(&stream, 9)?;
    /// let mut host = [0; 6];
    /// image.copy_to_host(&stream, &mut host)?;
    /// assert_eq!(host, [9; 6]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    pub fn copy_to_host(&self, stream: &CudaStream, target: &mut [T]) -> Result<(), Error> {
        self.same_len("copy_to_host", self.len(), target.len())?;
        let layout = RowLayout::packed::<T>(self.width, self.height);
        stream.copy_region(&self.as_source(), &mut CopyTarget::host(target, layout), self.extent())
    }

    /// All elements, row by row without gaps. Calls and errors are those of [`PitchedBuffer::copy_to_host`].
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
    /// image.fill(&stream, 9)?;
    /// assert_eq!(image.to_host_vec(&stream)?, [9; 6]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        // SAFETY: every bit pattern is a valid `T` (`DeviceCopy` 1), including all zeros.
        let mut host = vec![unsafe { std::mem::zeroed() }; self.len()];
        self.copy_to_host(stream, &mut host)?;
        Ok(host)
    }

    /// Sets every element to `value`, on `stream`; does not wait, and leaves the padding between rows unchanged.
    ///
    /// Driver call: `cuMemsetD2D8Async`, `cuMemsetD2D16Async` or `cuMemsetD2D32Async`, as wide as the element.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<f32>::uninit(&stream, 3, 2)?;
    /// image.fill(&stream, 0.5)?;
    /// assert_eq!(image.to_host_vec(&stream)?, [0.5; 6]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemsetD2D32")]
    pub fn fill(&mut self, stream: &CudaStream, value: T) -> Result<(), Error>
    where
        T: FillElement,
    {
        stream.same_context(self.context(), "the buffer")?;
        let mut work = Submission::on(stream);
        if !self.is_empty() {
            work.writes(&self.allocation)?;
        }
        let rows = Rows { target: self.address, pitch: self.pitch, width: self.width, height: self.height };
        // SAFETY: 1: the rows are this value's own, of the stream's context, as was checked, with `width` elements of
        // the word's size in each; the driver aligns rows to more than a word. `work` has just noted that it writes
        // them, if there are any.
        unsafe { fill_rows(work, rows, Word::of(value)) }
    }

    /// The elements of row `y`, for reading; `None` if there is no such row.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
    /// image.copy_from_host(&stream, &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(image.row(1).unwrap().to_host_vec(&stream)?, [4, 5, 6]);
    /// assert!(image.row(2).is_none());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn row(&self, y: usize) -> Option<DeviceView<'_, T>> {
        (y < self.height).then(|| DeviceView::new(self.row_address(y), self.width, &self.allocation))
    }

    /// The elements of row `y`, for writing; `None` if there is no such row.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 3, 2)?;
    /// image.fill(&stream, 0)?;
    /// image.row_mut(0).unwrap().fill(&stream, 7)?;
    /// assert_eq!(image.to_host_vec(&stream)?, [7, 7, 7, 0, 0, 0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn row_mut(&mut self, y: usize) -> Option<DeviceViewMut<'_, T>> {
        (y < self.height).then(|| DeviceViewMut::new(self.row_address(y), self.width, &self.allocation))
    }

    fn row_address(&self, y: usize) -> u64 {
        self.address + (y * self.pitch) as u64
    }

    /// What [`CudaStream::copy_region`] reads.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{CopyTarget, Extent, PitchedBuffer, RowLayout};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 4, 4)?;
    /// image.fill(&stream, 7)?;
    /// let mut corner = [0; 4];
    /// let mut target = CopyTarget::host(&mut corner, RowLayout::packed::<u8>(2, 2));
    /// stream.copy_region(&image.as_source().at(2, 2, 0), &mut target, Extent::rows(2, 2))?;
    /// assert_eq!(corner, [7; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn as_source(&self) -> CopySource<'_, T> {
        CopySource::new(Place::Device(self.address), self.bounds(), Owner::Device(&self.allocation))
    }

    /// What [`CudaStream::copy_region`] writes.
    pub fn as_target(&mut self) -> CopyTarget<'_, T> {
        CopyTarget::new(Place::Device(self.address), self.bounds(), Owner::Device(&self.allocation))
    }

    fn bounds(&self) -> Bounds {
        Bounds::Rows(self.extent(), self.layout())
    }

    /// Where rows start.
    pub fn layout(&self) -> RowLayout {
        RowLayout { pitch: self.pitch, rows: self.height }
    }

    /// Elements and rows.
    pub fn extent(&self) -> Extent {
        Extent::rows(self.width, self.height)
    }

    /// Elements per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// From the start of one row to the start of the next, in bytes.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let image = PitchedBuffer::<f32>::uninit(&stream, 3, 2)?;
    /// assert!(image.pitch() >= 12 && image.pitch() % 4 == 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The number of elements in all rows, without the padding.
    pub fn len(&self) -> usize {
        self.width * self.height
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address for a kernel to read from; 0 if there are no elements.
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        self.allocation.address_taken();
        DevicePtr::from_raw(self.address)
    }

    /// The address for a kernel to write to; 0 if there are no elements.
    pub fn as_mut_device_ptr(&mut self) -> DevicePtrMut<T> {
        self.allocation.address_taken();
        DevicePtrMut::from_raw(self.address)
    }

    /// The raw address, as driver functions take it.
    pub fn cu_deviceptr(&self) -> cuda_driver_sys::CUdeviceptr {
        self.allocation.escape();
        self.address
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        self.allocation.context()
    }

    #[inline(always)]
    pub(crate) fn row_parts(&self) -> RowParts<'_, T> {
        RowParts { address: &self.address, pitch: &self.pitch, allocation: &self.allocation, of: PhantomData }
    }

    /// All bytes, padding included.
    pub(crate) fn reach(&self) -> Range<u64> {
        self.address..self.address.saturating_add((self.pitch * self.height) as u64)
    }

    /// What keeps the memory.
    pub(super) fn share(&self) -> Arc<Allocation> {
        self.allocation.clone()
    }

    /// Frees the memory now, and reports any error; waits for all work on the device.
    ///
    /// Memory that a graph still uses is left to the graph. Driver call: `cuMemFree`.
    ///
    /// # Errors
    /// Any error returned by the driver; the buffer is released in any case.
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.allocation).map_or(Ok(()), |mut allocation| allocation.release())
    }

    fn same_len(&self, call: &'static str, source_len: usize, destination_len: usize) -> Result<(), Error> {
        if source_len == destination_len {
            return Ok(());
        }
        Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into())
    }
}
