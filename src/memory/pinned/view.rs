//! Borrowed parts of pinned memory, and the copies that use them.

#![allow(unsafe_code)] // Calls of the driver on memory whose length and lifetime the views vouch for.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use cuda_driver_sys::{CUresult, Driver};

use super::PinnedBuffer;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::memory::allocation::Allocation;
use crate::memory::buffer::view::{DeviceView, DeviceViewMut, resolve};
use crate::memory::copy::{asked, same_length};
use crate::memory::device_copy::DeviceCopy;
use crate::ordering::{Submission, submit_and_wait};

/// To which thread memory is lent, which waits for the copies; none if it lives as long as the allocation: a graph may keep it.
pub(in crate::memory) type Loan = Option<ThreadId>;

/// Elements of pinned memory, for copies that read them.
///
/// ```
/// use cuda_launch::memory::PinnedFlags;
/// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let host = PinnedBuffer::from_slice(&ctx, &[1u32, 2, 3, 4], PinnedFlags::empty())?;
/// let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 2)?;
/// buffer.view_mut().copy_from_pinned(&stream, host.try_slice(1..3).expect("inside"))?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PinnedView<'a, T: DeviceCopy> {
    start: NonNull<T>,
    len: usize,
    allocation: &'a Arc<Allocation>,
    loan: Loan,
    of: PhantomData<&'a [T]>,
}

/// Elements of pinned memory, for copies that write them. See [`PinnedView`].
#[derive(Debug)]
pub struct PinnedViewMut<'a, T: DeviceCopy> {
    start: NonNull<T>,
    len: usize,
    allocation: &'a Arc<Allocation>,
    loan: Loan,
    of: PhantomData<&'a mut [T]>,
}

macro_rules! view_methods {
    ($name:ident) => {
        // SAFETY: a borrow of elements that are Send and Sync, which only the driver follows; the rest is a shared reference to what is
        // Sync, a length, and the id of a thread.
        unsafe impl<T: DeviceCopy + Send + Sync> Send for $name<'_, T> {}
        // SAFETY: as above; through a shared view nothing is changed.
        unsafe impl<T: DeviceCopy + Send + Sync> Sync for $name<'_, T> {}

        impl<'a, T: DeviceCopy> $name<'a, T> {
            pub(in crate::memory) fn new(
                start: NonNull<T>,
                len: usize,
                allocation: &'a Arc<Allocation>,
                loan: Loan,
            ) -> Self {
                Self { start, len, allocation, loan, of: PhantomData }
            }

            /// The elements of `range`; `None` if it is not inside the view.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, PinnedBuffer};
            /// use cuda_launch::memory::PinnedFlags;
            /// # let ctx = CudaContext::new(0)?;
            /// let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
            /// assert!(pinned.view().try_slice(..5).is_none());
            /// assert_eq!(pinned.view_mut().try_slice(1..).unwrap().len(), 3);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn try_slice(self, range: impl RangeBounds<usize>) -> Option<Self> {
                let range = resolve(range, self.len)?;
                // SAFETY: `resolve` found the range inside the `len` elements at `start`.
                let start = unsafe { self.start.add(range.start) };
                Some(Self::new(start, range.len(), self.allocation, self.loan))
            }

            /// The number of elements.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, PinnedBuffer};
            /// use cuda_launch::memory::PinnedFlags;
            /// # let ctx = CudaContext::new(0)?;
            /// let pinned = PinnedBuffer::<u32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
            /// assert_eq!(pinned.view().len(), 4);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The size in bytes.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, PinnedBuffer};
            /// use cuda_launch::memory::PinnedFlags;
            /// # let ctx = CudaContext::new(0)?;
            /// let pinned = PinnedBuffer::<u32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
            /// assert_eq!(pinned.view().byte_len(), 16);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn byte_len(&self) -> usize {
                self.len * size_of::<T>()
            }
        }
    };
}

view_methods!(PinnedView);
view_methods!(PinnedViewMut);

impl<'a, T: DeviceCopy> PinnedViewMut<'a, T> {
    /// The same elements, with a shorter lifetime.
    pub fn view_mut(&mut self) -> PinnedViewMut<'_, T> {
        PinnedViewMut::new(self.start, self.len, self.allocation, self.loan)
    }

    /// The same elements, for copies that read them.
    pub fn as_view(&self) -> PinnedView<'_, T> {
        PinnedView::new(self.start, self.len, self.allocation, self.loan)
    }
}

impl<'a, T: DeviceCopy> From<&'a PinnedBuffer<T>> for PinnedView<'a, T> {
    fn from(buffer: &'a PinnedBuffer<T>) -> Self {
        buffer.view()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut PinnedBuffer<T>> for PinnedViewMut<'a, T> {
    fn from(buffer: &'a mut PinnedBuffer<T>) -> Self {
        buffer.view_mut()
    }
}

/// Submits a copy. If the memory is lent to another thread, and the copy is on this thread's own stream, waits: the other thread has no
/// handle of that stream.
fn submit(
    work: Submission<'_>,
    loan: Loan,
    name: &'static str,
    asked: impl Fn() -> String,
    call: impl FnMut(&Driver) -> CUresult,
) -> Result<(), Error> {
    let stream = work.stream();
    match loan {
        Some(lender) if stream.is_per_thread() && lender != thread::current().id() => {
            submit_and_wait(stream, || work.call(name, asked, call))
        }
        _ => work.call(name, asked, call),
    }
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Copies all of `source` over the elements, on `stream`; does not wait.
    ///
    /// Both may be dropped in the meantime: their memory is freed after the copy. The source cannot be changed before
    /// the copy is done. A stream that captures makes the copy part of its graph. Driver call: `cuMemcpyHtoDAsync`;
    /// none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let pinned = PinnedBuffer::from_slice(&ctx, &[9.0f32; 4], PinnedFlags::empty())?;
    /// x.view_mut().copy_from_pinned(&stream, &pinned)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [9.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn copy_from_pinned<'p>(
        &mut self,
        stream: &CudaStream,
        source: impl Into<PinnedView<'p, T>>,
    ) -> Result<(), Error> {
        let source = source.into();
        same_length("copy_from_pinned", source.len, self.len())?;
        stream.same_context(self.context(), "the buffer")?;
        stream.same_context(source.allocation.context(), "the pinned memory")?;
        let bytes = self.byte_len();
        if bytes == 0 {
            return Ok(());
        }
        if source.loan.is_some() {
            stream.refuse_in_capture("cuMemcpyHtoDAsync")?;
        }
        let mut work = Submission::on(stream);
        work.reads(source.allocation)?;
        work.writes(self.allocation())?;
        // SAFETY: both sides have `bytes` bytes and are of the stream's context, as was checked, which `call` makes current; the stream lives
        // as long as its handle (`StreamInner`). They are given back, and used by others, after the copy, which has noted its accesses;
        // memory that is lent is waited for by `with_registered` or by `submit`, and no graph takes it. Any bits are a `T`.
        submit(work, source.loan, "cuMemcpyHtoDAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyHtoDAsync(self.base(), source.start.as_ptr().cast(), bytes, stream.raw())
        })
    }
}

impl<T: DeviceCopy> DeviceView<'_, T> {
    /// Copies the elements over all of `destination`, on `stream`; does not wait.
    ///
    /// The destination cannot be read before the copy is done: [`PinnedBuffer::as_slice`] waits. A stream that captures makes
    /// the copy part of its graph. Driver call: `cuMemcpyDtoHAsync`; none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut pinned = PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
    /// x.view().copy_to_pinned(&stream, &mut pinned)?;
    /// assert_eq!(pinned.as_slice()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn copy_to_pinned<'p>(
        &self,
        stream: &CudaStream,
        destination: impl Into<PinnedViewMut<'p, T>>,
    ) -> Result<(), Error> {
        let destination = destination.into();
        same_length("copy_to_pinned", self.len(), destination.len)?;
        stream.same_context(self.context(), "the buffer")?;
        stream.same_context(destination.allocation.context(), "the pinned memory")?;
        let bytes = self.byte_len();
        if bytes == 0 {
            return Ok(());
        }
        if destination.loan.is_some() {
            stream.refuse_in_capture("cuMemcpyDtoHAsync")?;
        }
        let mut work = Submission::on(stream);
        work.reads(self.allocation())?;
        work.writes(destination.allocation)?;
        // SAFETY: both sides have `bytes` bytes and are of the stream's context, as was checked, which `call` makes current; the stream lives
        // as long as its handle (`StreamInner`). They are given back, and used by others, after the copy, which has noted its accesses;
        // memory that is lent is waited for by `with_registered` or by `submit`, and no graph takes it. Any bits are a `T`.
        submit(work, destination.loan, "cuMemcpyDtoHAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyDtoHAsync(destination.start.as_ptr().cast(), self.base(), bytes, stream.raw())
        })
    }
}
