//! Owned device memory.

#![allow(unsafe_code)] // Calls of the driver that allocate.

pub(super) mod parts;
pub(super) mod view;

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::view::{DeviceView, DeviceViewMut};
use crate::driver::{CudaContext, CudaStream, sweep_and_wait};
use crate::error::{Error, ErrorKind};
use crate::memory::aligned::{OF_DEVICE, aligned};
use crate::memory::allocation::Allocation;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::SliceParts;
use crate::memory::pointer::{DevicePtr, DevicePtrMut};

/// `len` elements of device memory.
///
/// An empty buffer allocates nothing: its address is 0, and every operation on it is valid and does nothing.
///
/// The buffer tracks which streams access it, and work on another stream is ordered after those accesses: a kernel that
/// takes it as `slice(x)` or `slice_mut(x)`, a copy, and the drop of the buffer, which does not block the host. Streams
/// that accessed it live at least until it is written on another one. An access to part of a buffer counts as an access
/// to all of it. Work that has to wait for an access waits for everything that was submitted to its stream up to then, including host
/// functions that were submitted after the access.
///
/// Memory comes from the device's memory pool and is returned to it in stream order; on devices without one
/// ([`DeviceLimits::memory_pools`](crate::device::DeviceLimits)), allocating and freeing wait for all work on the
/// device.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4)?;
/// buffer.slice_mut(1..3).copy_from_host(&stream, &[7, 8])?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [0, 7, 8, 0]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "cuMemAlloc")]
pub struct DeviceBuffer<T: DeviceCopy> {
    address: u64,
    len: usize,
    allocation: Arc<Allocation>,
    /// Whether its raw address was handed out: see [`Allocation::address_taken`].
    taken: AtomicBool,
    of: PhantomData<T>,
}

impl<T: DeviceCopy> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::show::elements::<T>(f, "DeviceBuffer", self.address, self.len, self.context())
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates `len` elements and leaves them uninitialised.
    ///
    /// Driver call: `cuMemAllocAsync` on `stream`, or `cuMemAlloc` on a device without memory pools; none for an empty
    /// buffer. If memory runs out, and something dropped earlier was waiting for work that is done by now, that is
    /// freed and the call is retried.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut x = DeviceBuffer::<f32>::uninit(&stream, 4)?;
    /// x.copy_from_host(&stream, &[1.0, 2.0, 3.0, 4.0])?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`]; the stream captures ([`Error::is_refused_in_capture`]); [`Error::is_misaligned`] for
    /// elements whose alignment exceeds that of the driver's memory, which is at least 256 bytes.
    pub fn uninit(stream: &CudaStream, len: usize) -> Result<Self, Error> {
        let allocation = allocate(stream, byte_len::<T>(len)?, len)?;
        let address = allocation.address();
        let buffer = Self::from_allocation(len, address, allocation);
        aligned::<T>(address, allocating_call(stream), OF_DEVICE)?;
        Ok(buffer)
    }

    /// The buffer of `len` elements at `address`, which `allocation` owns.
    pub(crate) fn from_allocation(len: usize, address: u64, allocation: Arc<Allocation>) -> Self {
        Self { address, len, allocation, taken: AtomicBool::new(false), of: PhantomData }
    }

    /// The owner of the memory.
    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    /// The same, if it is the only owner of the memory: no capture or graph shares it.
    pub(super) fn sole_allocation(&mut self) -> Option<&mut Allocation> {
        Arc::get_mut(&mut self.allocation)
    }

    /// Allocates `len` elements whose bytes are zero.
    ///
    /// Driver calls: as [`DeviceBuffer::uninit`], and `cuMemsetD8Async` on `stream`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert_eq!(DeviceBuffer::<u32>::zeroed(&stream, 3)?.to_host_vec(&stream)?, [0; 3]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn zeroed(stream: &CudaStream, len: usize) -> Result<Self, Error> {
        let mut buffer = Self::uninit(stream, len)?;
        buffer.view_mut().set_zero(stream)?;
        Ok(buffer)
    }

    /// Allocates as many elements as `source` has and copies them; returns when the copy is complete.
    ///
    /// Driver calls: as [`DeviceBuffer::uninit`], `cuMemcpyHtoDAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0])?;
    /// assert_eq!(x.to_host_vec(&stream)?, [1.0, 2.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn from_host(stream: &CudaStream, source: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::uninit(stream, source.len())?;
        buffer.copy_from_host(stream, source)?;
        // All work with it so far is done, so the next access has nothing to wait for.
        buffer.allocation.forget_accesses();
        Ok(buffer)
    }

    /// Allocates a buffer of the same length and copies the elements, on `stream`; does not wait.
    ///
    /// The copy comes after work on any stream that writes this buffer, and later work that writes it comes after the copy.
    /// (An implementation of `Clone` could not report that memory ran out.)
    ///
    /// Driver calls: as [`DeviceBuffer::uninit`], and `cuMemcpyDtoDAsync` on `stream`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let mut buffer = DeviceBuffer::from_host(&stream, &[1u32, 2, 3])?;
    /// let before = buffer.try_clone(&stream)?;
    /// buffer.fill(&stream, 7)?;
    /// assert_eq!((before.to_host_vec(&stream)?, buffer.to_host_vec(&stream)?), (vec![1, 2, 3], vec![7; 3]));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, [`Error::is_out_of_memory`], or any error returned by the driver.
    pub fn try_clone(&self, stream: &CudaStream) -> Result<Self, Error> {
        stream.clone_dtod(self)
    }

    /// Copies all elements to the host, after all work submitted to `stream` so far.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let host: Vec<f32> = x.to_host_vec(&stream)?;
    /// assert_eq!(host, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver; a fault of earlier work is also
    /// reported here.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        self.view().to_host_vec(stream)
    }

    /// Copies `source` over all elements; returns when the copy is complete. Calls and errors as
    /// [`DeviceViewMut::copy_from_host`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.copy_from_host(&stream, &[5.0; 4])?;
    /// assert!(x.copy_from_host(&stream, &[5.0; 3]).is_err(), "of another length");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        self.view_mut().copy_from_host(stream, source)
    }

    /// Copies all elements to `destination`; returns when the copy is complete. Calls and errors as
    /// [`DeviceView::copy_to_host`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut host = [0.0; 4];
    /// x.copy_to_host(&stream, &mut host)?;
    /// assert_eq!(host, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    pub fn copy_to_host(&self, stream: &CudaStream, destination: &mut [T]) -> Result<(), Error> {
        self.view().copy_to_host(stream, destination)
    }

    /// All elements, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.view().slice(1..3).len(), 2);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.address, self.len, &self.allocation)
    }

    /// All elements, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.view_mut().set_zero(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, &self.allocation)
    }

    /// The elements of `range`, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.slice(2..).to_host_vec(&stream)?, [3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the range is not inside the buffer, as with slices; [`DeviceBuffer::try_slice`] does not panic.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceView<'_, T> {
        self.view().slice(range)
    }

    /// The elements of `range`, for reading; `None` if it is not inside the buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert!(x.try_slice(..5).is_none() && x.try_slice(..4).is_some());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<DeviceView<'_, T>> {
        self.view().try_slice(range)
    }

    /// The elements of `range`, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.slice_mut(..2).set_zero(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0, 0.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the range is not inside the buffer, as with slices; [`DeviceBuffer::try_slice_mut`] does not panic.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceViewMut<'_, T> {
        self.view_mut().slice(range)
    }

    /// The elements of `range`, for writing; `None` if it is not inside the buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// if let Some(mut tail) = x.try_slice_mut(3..) {
    ///     tail.set_zero(&stream)?;
    /// }
    /// assert_eq!(x.to_host_vec(&stream)?[3], 0.0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<DeviceViewMut<'_, T>> {
        self.view_mut().try_slice(range)
    }

    /// The first `mid` elements and the rest, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let (left, right) = x.split_at(1);
    /// assert_eq!((left.len(), right.len()), (1, 3));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `mid` is past the end, as with slices.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (DeviceView<'_, T>, DeviceView<'_, T>) {
        self.view().split_at(mid)
    }

    /// The first `mid` elements and the rest, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let (mut left, right) = x.split_at_mut(2);
    /// left.copy_from_device(&stream, &right)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [3.0, 4.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `mid` is past the end, as with slices.
    #[track_caller]
    pub fn split_at_mut(&mut self, mid: usize) -> (DeviceViewMut<'_, T>, DeviceViewMut<'_, T>) {
        self.view_mut().split_at(mid)
    }

    #[inline(always)]
    pub(super) fn slice_parts(&self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.allocation)
    }

    /// The address for a kernel to read from; 0 for an empty buffer.
    ///
    /// Work that receives the address as a number is not tracked: order it against other streams yourself, or pass
    /// `ptr(x)` to a launch, which is the same parameter. The memory is freed after all work that this crate submitted
    /// to streams of the context before the buffer was dropped, in stream order; the host does not wait. For work that
    /// this crate does not see, from raw driver calls and other libraries, use
    /// [`cu_deviceptr`](DeviceBuffer::cu_deviceptr).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.as_device_ptr().addr() % 256, 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        self.take_address();
        DevicePtr::from_raw(self.address)
    }

    /// The address for a kernel to write to; 0 for an empty buffer. See [`DeviceBuffer::as_device_ptr`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.as_mut_device_ptr().addr(), x.as_device_ptr().addr());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn as_mut_device_ptr(&mut self) -> DevicePtrMut<T> {
        self.take_address();
        DevicePtrMut::from_raw(self.address)
    }

    /// The raw address, as driver functions take it.
    ///
    /// Work that receives the address is not tracked: order it yourself. Once this method has been called, dropping the
    /// buffer blocks the host until all work in the context is done.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_ne!(x.cu_deviceptr(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn cu_deviceptr(&self) -> cuda_driver_sys::CUdeviceptr {
        self.allocation.escape();
        self.address
    }

    /// The number of elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert!(DeviceBuffer::<f32>::uninit(&stream, 0)?.is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size in bytes.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.byte_len(), 16);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn byte_len(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn context(&self) -> &CudaContext {
        self.allocation.context()
    }

    /// Frees the memory after all tracked work, and reports any error.
    ///
    /// Driver calls: `cuMemFreeAsync`, and an event and a wait for each further stream that used it; `cuMemFree` on a device
    /// without memory pools. A graph that uses the buffer keeps the memory allocated.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.close()?; // dropping it also frees the memory, but cannot report an error
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the buffer is released in any case.
    #[doc(alias = "cuMemFree", alias = "cuMemFreeAsync")]
    pub fn close(self) -> Result<(), Error> {
        let allocation = self.allocation.clone();
        drop(self);
        Arc::into_inner(allocation).map_or(Ok(()), |mut allocation| allocation.release())
    }

    /// Set here first, because a launch may take the address three times.
    #[inline(always)]
    fn take_address(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if *self.taken.get_mut() {
            self.allocation.address_taken();
        }
    }
}

/// Allocates `bytes` bytes for `len` elements, which work on any stream may use once `stream` has reached the allocation. Not generic, so
/// that it is compiled once and not for each element type.
fn allocate(stream: &CudaStream, bytes: usize, len: usize) -> Result<Arc<Allocation>, Error> {
    let context = stream.context();
    if bytes == 0 {
        return Ok(Allocation::empty(context));
    }
    stream.refuse_in_capture(allocating_call(stream))?;
    let allocate = || match context.limits().memory_pools {
        true => Allocation::pooled(stream, bytes, len),
        false => Allocation::plain(context, bytes, len),
    };
    match allocate() {
        Err(error) if error.is_out_of_memory() && sweep_and_wait() => allocate(),
        answer => answer,
    }
}

fn allocating_call(stream: &CudaStream) -> &'static str {
    if stream.context().limits().memory_pools { "cuMemAllocAsync" } else { "cuMemAlloc" }
}

/// The bytes of `len` elements.
pub(crate) fn byte_len<T>(len: usize) -> Result<usize, Error> {
    len.checked_mul(size_of::<T>()).ok_or_else(|| ErrorKind::Capacity { len, size: size_of::<T>() }.into())
}
