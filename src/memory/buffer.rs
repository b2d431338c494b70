//! Owned device memory.

#![allow(unsafe_code)] // Calls of the driver on memory that this value owns.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::device_copy::DeviceCopy;
use super::pointer::{DevicePtr, DevicePtrMut};
use super::view::{DeviceView, DeviceViewMut, SliceParts};
use crate::driver::{CudaContext, CudaStream};
use crate::error::{Error, ErrorKind, check};

/// `len` elements of device memory.
///
/// An empty buffer is no allocation: its address is 0, and every operation on it is legal and does nothing. Dropping a
/// buffer waits for all work of its device (`cuMemFree` does), so no kernel can still be using it.
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
#[derive(Debug)]
#[doc(alias = "cuMemAlloc")]
pub struct DeviceBuffer<T: DeviceCopy> {
    address: u64,
    len: usize,
    context: CudaContext,
    of: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates `len` elements and leaves them as they are.
    ///
    /// Driver call: `cuMemAlloc`, none for an empty buffer. The stream tells the context.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`].
    pub fn uninit(stream: &CudaStream, len: usize) -> Result<Self, Error> {
        let context = stream.context();
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::from(ErrorKind::Capacity { len, size: size_of::<T>() }))?;
        let mut address = 0;
        if bytes != 0 {
            context.bind()?;
            // SAFETY: the context is current, `address` outlives the call.
            let code = unsafe { context.driver().cuMemAlloc(&mut address, bytes) };
            check(code, "cuMemAlloc", || format!("{bytes} bytes for {len} elements"))?;
        }
        Ok(Self { address, len, context: context.clone(), of: PhantomData })
    }

    /// Allocates `len` elements whose bytes are zero.
    ///
    /// The bytes are set on `stream`; other streams must wait for it. Driver calls: `cuMemAlloc`, `cuMemsetD8Async`.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or whatever the driver answers.
    pub fn zeroed(stream: &CudaStream, len: usize) -> Result<Self, Error> {
        let mut buffer = Self::uninit(stream, len)?;
        buffer.view_mut().set_zero(stream)?;
        Ok(buffer)
    }

    /// Allocates as many elements as `source` has and copies them; returns when they are there.
    ///
    /// Driver calls: `cuMemAlloc`, `cuMemcpyHtoDAsync`, `cuStreamSynchronize`.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or whatever the driver answers.
    pub fn from_host(stream: &CudaStream, source: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::uninit(stream, source.len())?;
        buffer.copy_from_host(stream, source)?;
        Ok(buffer)
    }

    /// Copies all elements to the host, after the work that `stream` has been given so far.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers; a fault of earlier work shows here.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        self.view().to_host_vec(stream)
    }

    /// Copies `source` over all elements; returns when they are there. Calls and errors as
    /// [`DeviceViewMut::copy_from_host`].
    ///
    /// # Errors
    /// The lengths differ, the stream is of another context, or whatever the driver answers.
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        self.view_mut().copy_from_host(stream, source)
    }

    /// Copies all elements to `destination`; returns when they are there. Calls and errors as
    /// [`DeviceView::copy_to_host`].
    ///
    /// # Errors
    /// The lengths differ, the stream is of another context, or whatever the driver answers.
    pub fn copy_to_host(&self, stream: &CudaStream, destination: &mut [T]) -> Result<(), Error> {
        self.view().copy_to_host(stream, destination)
    }

    /// All elements, to read.
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.address, self.len, &self.context)
    }

    /// All elements, to write.
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, &self.context)
    }

    /// The elements of `range`, to read.
    ///
    /// # Panics
    /// If the range is not inside the buffer, as for slices; [`DeviceBuffer::try_slice`] does not.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceView<'_, T> {
        self.view().slice(range)
    }

    /// The elements of `range`, to read; `None` if it is not inside the buffer.
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<DeviceView<'_, T>> {
        self.view().try_slice(range)
    }

    /// The elements of `range`, to write.
    ///
    /// # Panics
    /// If the range is not inside the buffer, as for slices; [`DeviceBuffer::try_slice_mut`] does not.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceViewMut<'_, T> {
        self.view_mut().slice(range)
    }

    /// The elements of `range`, to write; `None` if it is not inside the buffer.
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<DeviceViewMut<'_, T>> {
        self.view_mut().try_slice(range)
    }

    /// The first `mid` elements and the rest, to read.
    ///
    /// # Panics
    /// If `mid` is past the end, as for slices.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (DeviceView<'_, T>, DeviceView<'_, T>) {
        self.view().split_at(mid)
    }

    /// The first `mid` elements and the rest, to write.
    ///
    /// # Panics
    /// If `mid` is past the end, as for slices.
    #[track_caller]
    pub fn split_at_mut(&mut self, mid: usize) -> (DeviceViewMut<'_, T>, DeviceViewMut<'_, T>) {
        self.view_mut().split_at(mid)
    }

    #[inline(always)]
    pub(super) fn slice_parts(&self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.context)
    }

    /// The address for a kernel to read from; 0 for an empty buffer.
    #[inline]
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        DevicePtr::from_raw(self.address)
    }

    /// The address for a kernel to write to; 0 for an empty buffer.
    #[inline]
    pub fn as_mut_device_ptr(&mut self) -> DevicePtrMut<T> {
        DevicePtrMut::from_raw(self.address)
    }

    /// The raw address, as the driver's functions take it.
    #[inline]
    pub fn cu_deviceptr(&self) -> cuda_driver_sys::CUdeviceptr {
        self.address
    }

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes.
    pub fn byte_len(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The context.
    #[inline]
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// Frees the memory now and says what the driver answered; waits for all work of the device.
    ///
    /// Driver call: `cuMemFree`.
    ///
    /// # Errors
    /// Whatever the driver answers; the buffer is gone in any case.
    #[doc(alias = "cuMemFree")]
    pub fn close(mut self) -> Result<(), Error> {
        self.free()
    }

    fn free(&mut self) -> Result<(), Error> {
        let address = std::mem::take(&mut self.address);
        if address == 0 {
            return Ok(());
        }
        // Also where it cannot be bound: it may be current all the same, and an error is told below.
        let _ = self.context.bind();
        // SAFETY: this value owned the allocation; the call waits for work that uses it.
        check(unsafe { self.context.driver().cuMemFree(address) }, "cuMemFree", || format!("{address:#x}"))
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.free();
    }
}
