//! Copies between host and device, and within the device.
//!
//! Copies from and to borrowed host memory return when they are complete: the driver reads pinned memory only when the
//! stream reaches the copy, and a `&[T]` cannot promise to live and stay unchanged until then.

#![allow(unsafe_code)] // Calls of the driver on memory whose length and lifetime the views vouch for.

pub(in crate::memory) mod batch;
pub(in crate::memory) mod layout;
pub(in crate::memory) mod peer;
#[cfg(feature = "async")]
pub(in crate::memory) mod raw;
pub(in crate::memory) mod region;
pub(in crate::memory) mod region_batch;

use std::ffi::c_void;
use std::sync::Arc;

use super::allocation::Allocation;
use super::buffer::view::{DeviceView, DeviceViewMut};
use super::device_copy::DeviceCopy;
use super::device_slice::DeviceSlice;
use crate::driver::CudaStream;
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::ordering::{Submission, submit_and_wait};

impl<T: DeviceCopy> DeviceView<'_, T> {
    /// Copies the elements to the host, after all work submitted to `stream` so far.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.slice(1..3).to_host_vec(&stream)?, [2.0, 3.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver; a fault of earlier work is also
    /// reported here.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        let mut host = Vec::with_capacity(self.len());
        // SAFETY: 1: the capacity is `len` elements. They are written, or have no bytes, when `read_to` has returned
        // without an error, which waits for the copy; and every bit pattern is a `T`.
        unsafe {
            read_to(self, stream, host.as_mut_ptr())?;
            host.set_len(self.len());
        }
        Ok(host)
    }

    /// Copies the elements over all of `destination`; returns when the copy is complete.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut host = [0.0; 2];
    /// x.slice(2..).copy_to_host(&stream, &mut host)?;
    /// assert_eq!(host, [3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn copy_to_host(&self, stream: &CudaStream, destination: &mut [T]) -> Result<(), Error> {
        same_length("copy_to_host", self.len(), destination.len())?;
        // SAFETY: 1: the destination has `len` elements, as was checked; and every bit pattern is a `T`.
        unsafe { read_to(self, stream, destination.as_mut_ptr()) }
    }
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Copies all of `source` over the elements; returns when the copy is complete.
    ///
    /// Driver calls: `cuMemcpyHtoDAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.slice_mut(..2).copy_from_host(&stream, &[8.0, 9.0])?;
    /// assert_eq!(x.to_host_vec(&stream)?, [8.0, 9.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        same_length("copy_from_host", source.len(), self.len())?;
        // SAFETY: 1: these are the view's bytes, which nothing else accesses while it is borrowed; 2: the source has as many
        // bytes, as was checked, and is borrowed until this returns.
        unsafe { from_host(self.allocation(), self.base(), self.byte_len(), source.as_ptr().cast(), stream) }
    }

    /// Copies all of `source` over the elements, on `stream`; does not wait.
    ///
    /// Both buffers may be dropped in the meantime: their memory is freed after the copy. Driver call:
    /// `cuMemcpyDtoDAsync`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut y = DeviceBuffer::<f32>::uninit(&stream, 2)?;
    /// y.view_mut().copy_from_device(&stream, &x.slice(2..))?;
    /// assert_eq!(y.to_host_vec(&stream)?, [3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream or the source belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyDtoD")]
    pub fn copy_from_device(
        &mut self,
        stream: &CudaStream,
        source: &impl DeviceSlice<Element = T>,
    ) -> Result<(), Error> {
        same_length("copy_from_device", source.len(), self.len())?;
        stream.same_context(self.context(), "the destination")?;
        stream.same_context(source.context(), "the source")?;
        let (source, bytes) = (source.parts(), self.byte_len());
        if bytes == 0 {
            return Ok(());
        }
        let mut work = Submission::on(stream);
        work.reads(source.allocation)?;
        work.writes(self.allocation())?;
        // SAFETY: both sides are device memory of this context and have `bytes` bytes, as was checked, and do not
        // overlap, as this view is an exclusive borrow; they are freed, and used by others, after the copy, which has
        // noted its accesses. The stream lives as long as its handle (`StreamInner`).
        work.call("cuMemcpyDtoDAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyDtoDAsync(self.base(), *source.address, bytes, stream.raw())
        })
    }

    /// Sets every byte to zero, on `stream`; does not wait.
    ///
    /// Driver call: `cuMemsetD8Async`; none for an empty view.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.slice_mut(1..3).set_zero(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [1.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemsetD8")]
    pub fn set_zero(&mut self, stream: &CudaStream) -> Result<(), Error> {
        // SAFETY: 1: the view's bytes, which nobody else reaches while it is borrowed; all-zero bytes are a `T`.
        unsafe { zero(self.allocation(), self.base(), self.byte_len(), stream) }
    }
}

/// Copies a view to `host` and waits.
///
/// # Safety
/// 1. `host` is valid for writes of `view.len()` elements.
unsafe fn read_to<T: DeviceCopy>(
    view: &DeviceView<'_, T>,
    stream: &CudaStream,
    host: *mut T,
) -> Result<(), Error> {
    // SAFETY: 1: the view's bytes; 2: so many are as many elements as it has, by the caller's duty 1.
    unsafe { to_host(view.allocation(), view.base(), view.byte_len(), host.cast(), stream) }
}

// The copies themselves know bytes only: of what knows the elements, a program has a copy for each type.

/// Copies device memory to `host` and waits.
///
/// # Safety
/// 1. `bytes` bytes from `address` on are of the allocation.
/// 2. `host` is valid for writes of `bytes` bytes until this returns.
unsafe fn to_host(
    allocation: &Arc<Allocation>,
    address: u64,
    bytes: usize,
    host: *mut c_void,
    stream: &CudaStream,
) -> Result<(), Error> {
    stream.same_context(allocation.context(), "the buffer")?;
    if bytes == 0 {
        return Ok(());
    }
    stream.refuse_in_capture("cuMemcpyDtoHAsync")?;
    let mut work = Submission::on(stream);
    work.reads(allocation)?;
    submit_and_wait(stream, || {
        // SAFETY: both sides have `bytes` bytes: the allocation's, by duty 1, are of the stream's context, as was checked, and are freed,
        // and written by others, after the copy, which has noted its access; the host's, by duty 2, are there until
        // `submit_and_wait` has waited, whatever happens. The stream lives as long as its handle (`StreamInner`).
        work.call("cuMemcpyDtoHAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyDtoHAsync(host, address, bytes, stream.raw())
        })
    })
}

/// Copies from `host` to device memory and waits.
///
/// # Safety
/// 1. `bytes` bytes from `address` on are of the allocation, and may be written.
/// 2. `host` is valid for reads of `bytes` bytes until this returns.
unsafe fn from_host(
    allocation: &Arc<Allocation>,
    address: u64,
    bytes: usize,
    host: *const c_void,
    stream: &CudaStream,
) -> Result<(), Error> {
    stream.same_context(allocation.context(), "the buffer")?;
    if bytes == 0 {
        return Ok(());
    }
    stream.refuse_in_capture("cuMemcpyHtoDAsync")?;
    let mut work = Submission::on(stream);
    work.writes(allocation)?;
    submit_and_wait(stream, || {
        // SAFETY: both sides have `bytes` bytes: the allocation's, by duty 1, are of the stream's context, as was checked, and are freed,
        // and used by others, after the copy, which has noted its access; the host's, by duty 2, are there until
        // `submit_and_wait` has waited, whatever happens. The stream lives as long as its handle (`StreamInner`).
        work.call("cuMemcpyHtoDAsync", asked(bytes, stream), |driver| unsafe {
            driver.cuMemcpyHtoDAsync(address, host, bytes, stream.raw())
        })
    })
}

/// Sets device memory to zero; does not wait.
///
/// # Safety
/// 1. `bytes` bytes from `address` on are of the allocation, and may be zero.
unsafe fn zero(
    allocation: &Arc<Allocation>,
    address: u64,
    bytes: usize,
    stream: &CudaStream,
) -> Result<(), Error> {
    stream.same_context(allocation.context(), "the buffer")?;
    if bytes == 0 {
        return Ok(());
    }
    let mut work = Submission::on(stream);
    work.writes(allocation)?;
    // SAFETY: so many bytes are the allocation's, by duty 1, of the stream's context, as was checked, which are freed, and used by
    // others, after this write, as it is noted. The stream lives as long as its handle (`StreamInner`).
    work.call("cuMemsetD8Async", asked(bytes, stream), |driver| unsafe {
        driver.cuMemsetD8Async(address, 0, bytes, stream.raw())
    })
}

/// The description of a copy of this many bytes, for errors and spans.
pub(super) fn asked(bytes: usize, stream: &CudaStream) -> impl Fn() -> String {
    move || format!("{bytes} bytes, {}", stream.label())
}

pub(super) fn same_length(
    call: &'static str,
    source_len: usize,
    destination_len: usize,
) -> Result<(), Error> {
    if source_len == destination_len {
        return Ok(());
    }
    Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into())
}
