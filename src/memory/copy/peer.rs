//! Copies between devices, and copies of bytes at raw addresses.

#![allow(unsafe_code)] // Calls of the driver on memory that the views vouch for, or the caller.

use cuda_driver_sys::CUdeviceptr;

use crate::driver::CudaStream;
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::memory::buffer::view::DeviceViewMut;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::DeviceSlice;
use crate::ordering::Submission;

impl<T: DeviceCopy> DeviceViewMut<'_, T> {
    /// Copies all of `source`, which may be memory of another device, over the elements, on `stream`; does not wait.
    ///
    /// The stream belongs to either context. Both buffers may be dropped in the meantime: their memory is freed after
    /// the copy. Devices that cannot access each other's memory copy through the host.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// // The last device there is: with one device, the same.
    /// let first = CudaContext::new(0)?.new_stream()?;
    /// let last = CudaContext::new(1).or_else(|_| CudaContext::new(0))?.new_stream()?;
    /// let here = DeviceBuffer::from_host(&first, &[1, 2, 3])?;
    /// let mut there = DeviceBuffer::zeroed(&last, 3)?;
    /// there.view_mut().copy_from_peer(&last, &here)?;
    /// assert_eq!(there.to_host_vec(&last)?, [1, 2, 3]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuMemcpyPeerAsync`.
    ///
    /// # Errors
    /// The lengths differ, a side belongs to another driver than the stream, or any error returned by the driver.
    #[doc(alias = "cuMemcpyPeer")]
    #[doc(alias = "cuMemcpyPeerAsync")]
    pub fn copy_from_peer(
        &mut self,
        stream: &CudaStream,
        source: &impl DeviceSlice<Element = T>,
    ) -> Result<(), Error> {
        stream.context().same_driver(self.context(), "the destination", "the stream")?;
        stream.context().same_driver(source.context(), "the source", "the stream")?;
        let (source, bytes) = (source.parts(), self.byte_len());
        let (source_len, destination_len) = (*source.len, self.len());
        if source_len != destination_len {
            let call = "copy_from_peer";
            return Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into());
        }
        if bytes == 0 {
            return Ok(());
        }
        let mut work = Submission::on(stream);
        work.reads(source.allocation)?;
        work.writes(self.allocation())?;
        let (from, to) = (source.allocation.context(), self.context());
        let asked = || format!("{bytes} bytes from device {} to device {}", from.ordinal(), to.ordinal());
        // SAFETY: stream and contexts are of one driver, as was checked; both sides are device memory of the context
        // named, have `bytes` bytes, and do not overlap, as this view is an exclusive borrow; they are freed, and used
        // by others, after the copy, which has noted its accesses. The stream lives as long as its handle
        // (`StreamInner`).
        work.call("cuMemcpyPeerAsync", asked, |driver| unsafe {
            driver.cuMemcpyPeerAsync(self.base(), to.raw(), *source.address, from.raw(), bytes, stream.raw())
        })
    }
}

impl CudaStream {
    /// Copies `bytes` bytes between any two addresses known to the driver: device, managed, or pinned host memory.
    ///
    /// Nothing is checked and nothing is tracked: work on other streams is not ordered. `copy_from_device` and
    /// [`CudaStream::copy_region`] do both. Driver call: `cuMemcpyAsync`.
    ///
    /// # Safety
    /// 1. `target` is valid for writes of `bytes` bytes and `source` for reads, both until the copy is done; where the stream captures,
    ///    as long as the graph can run.
    /// 2. No other work uses the target in the meantime, nor writes the source.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemcpyAsync")]
    pub unsafe fn copy_bytes(
        &self,
        target: CUdeviceptr,
        source: CUdeviceptr,
        bytes: usize,
    ) -> Result<(), Error> {
        let asked = || format!("{bytes} bytes from {source:#x} to {target:#x}");
        // SAFETY: addresses and their other users are the caller's duties 1 and 2; the stream lives as long as this handle (`StreamInner`).
        Submission::on(self).call("cuMemcpyAsync", asked, |driver| unsafe {
            driver.cuMemcpyAsync(target, source, bytes, self.raw())
        })
    }

    /// Sets `bytes` bytes starting at `target` to `value`. Nothing is checked and nothing is tracked.
    ///
    /// Driver call: `cuMemsetD8Async`.
    ///
    /// # Safety
    /// 1. `target` is valid for writes of `bytes` bytes until the work is done; where the stream captures, as long as the graph can run.
    /// 2. No other work uses them in the meantime.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemsetD8Async")]
    pub unsafe fn fill_bytes(&self, target: CUdeviceptr, value: u8, bytes: usize) -> Result<(), Error> {
        let asked = || format!("{bytes} bytes at {target:#x}");
        // SAFETY: addresses and their other users are the caller's duties 1 and 2; the stream lives as long as this handle (`StreamInner`).
        Submission::on(self).call("cuMemsetD8Async", asked, |driver| unsafe {
            driver.cuMemsetD8Async(target, value, bytes, self.raw())
        })
    }
}
