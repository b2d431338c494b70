//! Filling device memory with one value.

#![allow(unsafe_code)] // Calls of the driver on memory whose length the views vouch for; implementing an unsafe trait.

use cuda_driver_sys::{CUresult, CUstream, Driver};
use std::num::Wrapping;

use super::buffer::DeviceBuffer;
use super::buffer::view::DeviceViewMut;
use super::device_copy::DeviceCopy;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::ordering::Submission;

/// Elements that the driver can fill memory with: those with a size of 1, 2 or 4 bytes.
///
/// Implemented for numbers, `half` floats, and arrays of bytes and 16-bit integers of such a size. Memory of larger
/// elements can be zeroed with `set_zero`; other values take a kernel.
///
/// # Safety
/// 1. The type has 1, 2 or 4 bytes.
/// 2. It has no padding: all its bytes are always initialised.
#[diagnostic::on_unimplemented(
    message = "device memory cannot be filled with `{Self}`",
    label = "not 1, 2 or 4 bytes without padding",
    note = "the driver fills memory with values of 8, 16 and 32 bits; `set_zero` works for all element types, \
            `view.cast::<u32>()` fills wider ones word by word, and any other pattern needs a kernel"
)]
pub unsafe trait FillElement: DeviceCopy {}

macro_rules! fill_elements {
    ($($ty:ty),* $(,)?) => {$(
        // SAFETY: 1: the names say how many bits, and `Word::of` asserts it; 2: numbers, and arrays of them, have no padding.
        #[diagnostic::do_not_recommend]
        unsafe impl FillElement for $ty {}
    )*};
}

fill_elements! {
    u8, u16, u32, i8, i16, i32, f32, [u8; 1], [u8; 2], [u8; 4], [i8; 2], [i8; 4], [u16; 2], [i16; 2],
    Wrapping<u8>, Wrapping<u16>, Wrapping<u32>, Wrapping<i8>, Wrapping<i16>, Wrapping<i32>,
}

#[cfg(feature = "half")]
fill_elements! { half::f16, half::bf16 }

/// A value in the driver's form.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    One(u8),
    Two(u16),
    Four(u32),
}

impl Word {
    /// The bytes of a value.
    pub(crate) fn of<T: FillElement>(value: T) -> Self {
        const { assert!(matches!(size_of::<T>(), 1 | 2 | 4)) };
        let at = (&raw const value).cast::<u8>();
        // SAFETY: `FillElement` 1 and 2: the value has that many bytes, and all are initialised. `read_unaligned`, as
        // an array of bytes may lie anywhere.
        unsafe {
            match size_of::<T>() {
                1 => Self::One(at.read()),
                2 => Self::Two(at.cast::<u16>().read_unaligned()),
                _ => Self::Four(at.cast::<u32>().read_unaligned()),
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::One(_) => "cuMemsetD8Async",
            Self::Two(_) => "cuMemsetD16Async",
            Self::Four(_) => "cuMemsetD32Async",
        }
    }

    /// The value as a number.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::One(value) => value.into(),
            Self::Two(value) => value.into(),
            Self::Four(value) => value,
        }
    }

    /// The size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Two(_) => 2,
            Self::Four(_) => 4,
        }
    }

    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.slice_mut(2..).fill(&stream, 0.5)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [1.0, 2.0, 0.5, 0.5]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. `target` has `count` words of device memory of the current context, which stay, and which nothing else uses, until the stream,
    ///    a live one, has written them.
    unsafe fn fill(self, driver: &Driver, target: u64, count: usize, stream: CUstream) -> CUresult {
        // SAFETY: memory and stream are such by the caller's duty 1; each function takes the count in words of its size.
        unsafe {
            match self {
                Self::One(value) => driver.cuMemsetD8Async(target, value, count, stream),
                Self::Two(value) => driver.cuMemsetD16Async(target, value, count, stream),
                Self::Four(value) => driver.cuMemsetD32Async(target, value, count, stream),
            }
        }
    }

    fn rows_name(self) -> &'static str {
        match self {
            Self::One(_) => "cuMemsetD2D8Async",
            Self::Two(_) => "cuMemsetD2D16Async",
            Self::Four(_) => "cuMemsetD2D32Async",
        }
    }

    /// # Safety
    /// 1. `rows` is device memory of the current context, in elements of the word's size and at their alignment, which stays, and which
    ///    nothing else uses, until the stream, a live one, has written it.
    unsafe fn fill_rows(self, driver: &Driver, rows: Rows, stream: CUstream) -> CUresult {
        let Rows { target, pitch, width, height } = rows;
        // SAFETY: memory and stream are such by the caller's duty 1; each function takes the width in words of its size.
        unsafe {
            match self {
                Self::One(value) => driver.cuMemsetD2D8Async(target, pitch, value, width, height, stream),
                Self::Two(value) => driver.cuMemsetD2D16Async(target, pitch, value, width, height, stream),
                Self::Four(value) => driver.cuMemsetD2D32Async(target, pitch, value, width, height, stream),
            }
        }
    }
}

/// Rows of device memory.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) target: u64,
    /// In bytes.
    pub(super) pitch: usize,
    /// In elements.
    pub(super) width: usize,
    pub(super) height: usize,
}

impl<T: FillElement> DeviceViewMut<'_, T> {
    /// Sets every element to `value`, on `stream`; does not wait.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 4)?;
    /// buffer.slice_mut(1..3).fill(&stream, 0.5)?;
    /// assert_eq!(buffer.to_host_vec(&stream)?, [0.0, 0.5, 0.5, 0.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuMemsetD8Async`, `cuMemsetD16Async` or `cuMemsetD32Async`, as wide as the element; none for an
    /// empty view.
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver: `CUDA_ERROR_INVALID_VALUE` for an
    /// array such as `[u8; 4]` that is not aligned to its size.
    #[doc(alias = "cuMemsetD8")]
    #[doc(alias = "cuMemsetD16")]
    #[doc(alias = "cuMemsetD32")]
    pub fn fill(&mut self, stream: &CudaStream, value: T) -> Result<(), Error> {
        stream.same_context(self.context(), "the buffer")?;
        if self.is_empty() {
            return Ok(());
        }
        let mut work = Submission::on(stream);
        work.writes(self.allocation())?;
        let (word, target, count) = (Word::of(value), self.base(), self.len());
        let asked = || format!("{count} elements of {} bytes", word.size());
        // SAFETY: 1: the view has `count` elements of the word's size, of the stream's context, as was checked, which `call` makes current;
        // they are freed and used again after this write, as it is noted; the stream lives as long as its handle (`StreamInner`).
        work.call(word.name(), asked, |driver| unsafe { word.fill(driver, target, count, stream.raw()) })
    }
}

impl<T: FillElement> DeviceBuffer<T> {
    /// Allocates `len` elements that are all `value`.
    ///
    /// Driver calls: those of [`DeviceBuffer::uninit`] and
    /// [`DeviceBuffer::fill`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = DeviceBuffer::filled(&stream, 4, 7u16)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [7; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn filled(stream: &CudaStream, len: usize, value: T) -> Result<Self, Error> {
        let mut buffer = Self::uninit(stream, len)?;
        buffer.fill(stream, value)?;
        Ok(buffer)
    }

    /// Sets every element to `value`, on `stream`. Calls and errors are those of [`DeviceViewMut::fill`].
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn fill(&mut self, stream: &CudaStream, value: T) -> Result<(), Error> {
        self.view_mut().fill(stream, value)
    }
}

/// Fills rows of device memory by `work`, which has noted that it writes them.
///
/// # Safety
/// 1. `rows` is device memory of the stream's context, in elements of the word's size and at their alignment, and `work` has noted
///    that it writes it.
pub(super) unsafe fn fill_rows(work: Submission<'_>, rows: Rows, word: Word) -> Result<(), Error> {
    if rows.width == 0 || rows.height == 0 {
        return Ok(());
    }
    let asked = || format!("{} x {} elements, pitch {} bytes", rows.width, rows.height, rows.pitch);
    let stream = work.stream().raw();
    // SAFETY: 1: such rows by the caller's duty 1, of the stream's context, which `call` makes current; they are freed and used again after
    // this write, as `work` has noted it, whose stream lives as long as its handle (`StreamInner`).
    work.call(word.rows_name(), asked, |driver| unsafe { word.fill_rows(driver, rows, stream) })
}
