//! Copies between host and device, and within the device.
//!
//! Copies from and to borrowed host memory return when they are done: the driver reads pinned memory only when the stream
//! gets there, and a `&[T]` cannot promise to live and stay unchanged until then.

#![allow(unsafe_code)] // Calls of the driver on memory whose length and lifetime the views vouch for.

use super::device_copy::DeviceCopy;
use super::view::{DeviceSlice, DeviceView, DeviceViewMut};
use crate::driver::CudaStream;
use crate::error::{Error, ErrorKind, LengthMismatch, check};

impl<T: DeviceCopy> DeviceView<'_, T> {
    /// Copies the elements to the host, after the work that `stream` has been given so far.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers; a fault of earlier work shows here.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        let mut host = Vec::with_capacity(self.len());
        // SAFETY: the capacity is `len` elements; they count as written only once the copy is done.
        unsafe {
            read_to(self, stream, host.as_mut_ptr())?;
            host.set_len(self.len());
        }
        Ok(host)
    }

    /// Copies the elements over all of `destination`; returns when they are there.
    ///
    /// Driver calls: `cuMemcpyDtoHAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// # Errors
    /// The lengths differ, the stream is of another context, or whatever the driver answers.
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn copy_to_host(&self, stream: &CudaStream, destination: &mut [T]) -> Result<(), Error> {
        same_length("copy_to_host", self.len(), destination.len())?;
        // SAFETY: the destination has `len` elements, and every bit pattern is a `T`.
        unsafe { read_to(self, stream, destination.as_mut_ptr()) }
    }
}

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Copies all of `source` over the elements; returns when they are there.
    ///
    /// Driver calls: `cuMemcpyHtoDAsync`, `cuStreamSynchronize`; none for an empty view.
    ///
    /// # Errors
    /// The lengths differ, the stream is of another context, or whatever the driver answers.
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        same_length("copy_from_host", source.len(), self.len())?;
        stream.same_context(self.context(), "the buffer")?;
        if self.byte_len() == 0 {
            return Ok(());
        }
        self.context().bind()?;
        let (driver, bytes) = (self.context().driver(), self.byte_len());
        // SAFETY: both sides have `bytes` bytes; both are borrowed until the synchronisation below has returned.
        let code = unsafe {
            driver.cuMemcpyHtoDAsync(self.cu_deviceptr(), source.as_ptr().cast(), bytes, stream.raw())
        };
        let copied = check(code, "cuMemcpyHtoDAsync", || format!("{bytes} bytes"));
        // Also after an error: part of the copy may be under way.
        copied.and(stream.synchronize())
    }

    /// Copies all of `source` over the elements, on `stream`; does not wait.
    ///
    /// The memory may be given up meanwhile: freeing it waits. Driver call: `cuMemcpyDtoDAsync`.
    ///
    /// # Errors
    /// The lengths differ, the stream or the source is of another context, or whatever the driver answers.
    #[doc(alias = "cuMemcpyDtoD")]
    pub fn copy_from_device(
        &mut self,
        stream: &CudaStream,
        source: &impl DeviceSlice<Element = T>,
    ) -> Result<(), Error> {
        same_length("copy_from_device", source.len(), self.len())?;
        stream.same_context(self.context(), "the destination")?;
        stream.same_context(source.context(), "the source")?;
        if self.byte_len() == 0 {
            return Ok(());
        }
        self.context().bind()?;
        let (driver, bytes) = (self.context().driver(), self.byte_len());
        // SAFETY: both sides are device memory of this context and have `bytes` bytes; freeing either waits for the copy.
        let code =
            unsafe { driver.cuMemcpyDtoDAsync(self.cu_deviceptr(), source.address(), bytes, stream.raw()) };
        check(code, "cuMemcpyDtoDAsync", || format!("{bytes} bytes"))
    }

    /// Sets every byte to zero, on `stream`; does not wait.
    ///
    /// Driver call: `cuMemsetD8Async`; none for an empty view.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers.
    #[doc(alias = "cuMemsetD8")]
    pub fn set_zero(&mut self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(self.context(), "the buffer")?;
        if self.byte_len() == 0 {
            return Ok(());
        }
        self.context().bind()?;
        let (driver, bytes) = (self.context().driver(), self.byte_len());
        // SAFETY: the view has `bytes` bytes, and all-zero bytes are a `T`.
        let code = unsafe { driver.cuMemsetD8Async(self.cu_deviceptr(), 0, bytes, stream.raw()) };
        check(code, "cuMemsetD8Async", || format!("{bytes} bytes"))
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
    stream.same_context(view.context(), "the buffer")?;
    if view.byte_len() == 0 {
        return Ok(());
    }
    view.context().bind()?;
    let (driver, bytes) = (view.context().driver(), view.byte_len());
    // SAFETY: both sides have `bytes` bytes and outlive the synchronisation below.
    let code = unsafe { driver.cuMemcpyDtoHAsync(host.cast(), view.cu_deviceptr(), bytes, stream.raw()) };
    let copied = check(code, "cuMemcpyDtoHAsync", || format!("{bytes} bytes"));
    // Also after an error: part of the copy may be under way.
    copied.and(stream.synchronize())
}

fn same_length(call: &'static str, source_len: usize, destination_len: usize) -> Result<(), Error> {
    if source_len == destination_len {
        return Ok(());
    }
    Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into())
}
