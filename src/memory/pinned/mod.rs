//! Pinned host memory, which the device accesses directly.

#![allow(unsafe_code)] // Memory that the driver gave or pinned, which `allocation` keeps until nothing uses it.

pub(in crate::memory) mod view;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::sync::Arc;

use super::aligned::{OF_HOST, aligned};
use super::allocation::{Allocation, Origin};
use super::buffer::byte_len;
use super::buffer::view::{DeviceView, DeviceViewMut};
use super::device_copy::DeviceCopy;
use crate::driver::CudaContext;
use crate::error::{Error, HostAccess};
use crate::flags::flags;
use view::{PinnedView, PinnedViewMut};

flags! {
    /// How host memory is allocated (`CU_MEMHOSTALLOC_*`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct PinnedFlags: u32 {
        /// The memory counts as pinned in all contexts. On systems with unified addressing it always does.
        const PORTABLE = 1;
        /// Kernels can access the memory. On systems with unified addressing they always can.
        const DEVICE_MAP = 2;
        /// Write-combined memory, which bypasses the host's caches: faster for the device to read, very slow for the host to read.
        const WRITE_COMBINED = 4;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// `len` elements of pinned host memory: copies from and to it are asynchronous, and kernels can access it.
///
/// The buffer tracks which streams use it. The host can read what streams only read; to change it, or to read what a
/// stream writes, the host waits first. So a source cannot change during a copy, and a result cannot be read too early:
///
/// ```
/// use cuda_launch::memory::PinnedFlags;
/// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut host = PinnedBuffer::from_slice(&ctx, &[1u32, 2, 3], PinnedFlags::empty())?;
/// let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 3)?;
/// buffer.view_mut().copy_from_pinned(&stream, &host)?; // does not wait
/// host.as_mut_slice()?[0] = 9; // waits for the copy
/// buffer.view().copy_to_pinned(&stream, &mut host)?; // does not wait
/// assert_eq!(host.as_slice()?, [1, 2, 3]); // waits for the copy
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// While a slice of it is mutably borrowed, it cannot be copied from:
///
/// ```compile_fail,E0502
/// # use cuda_launch::memory::PinnedFlags;
/// # use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
/// # let ctx = CudaContext::new(0)?;
/// # let stream = ctx.new_stream()?;
/// # let mut host = PinnedBuffer::from_slice(&ctx, &[1u32, 2, 3], PinnedFlags::empty())?;
/// # let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 3)?;
/// let slice = host.as_mut_slice()?;
/// buffer.view_mut().copy_from_pinned(&stream, &host)?;
/// slice[0] = 9;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Dropping it waits for the streams that use it. Driver call then: `cuMemFreeHost`, which waits for the device.
#[derive(Debug)]
#[doc(alias = "cuMemHostAlloc", alias = "cuMemAllocHost", alias = "cuMemFreeHost")]
pub struct PinnedBuffer<T: DeviceCopy> {
    start: NonNull<T>,
    len: usize,
    /// Its address for kernels.
    device: u64,
    allocation: Arc<Allocation>,
    of: PhantomData<T>,
}

// SAFETY: it owns its elements, as a `Box` of them does; the rest is Send.
unsafe impl<T: DeviceCopy + Send> Send for PinnedBuffer<T> {}
// SAFETY: through a shared reference safe code gets shared references to elements, as from a `Box`; the rest is Sync.
unsafe impl<T: DeviceCopy + Sync> Sync for PinnedBuffer<T> {}

/// Memory of `cuMemHostAlloc`, freed when dropped.
struct HostAllocation {
    start: *mut c_void,
    context: CudaContext,
}

// SAFETY: an address of the process, not of a thread, to which only the driver is told to do something: its documents
// name no thread that has to free such memory. The context is Send.
unsafe impl Send for HostAllocation {}
// SAFETY: as above; nothing is done through a shared reference.
unsafe impl Sync for HostAllocation {}

impl Drop for HostAllocation {
    fn drop(&mut self) {
        // SAFETY: this value owned it, and frees it once: it is dropped by the `Allocation` that it belongs to, after
        // all work that uses it, or where `zeroed` fails, before any.
        let _ = self
            .context
            .give_back("cuMemFreeHost", String::new, |driver| unsafe { driver.cuMemFreeHost(self.start) });
    }
}

impl<T: DeviceCopy> PinnedBuffer<T> {
    /// Allocates `len` elements whose bytes are zero.
    ///
    /// Driver calls: `cuMemHostAlloc`, `cuMemHostGetDevicePointer`; none for an empty buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// let buffer = PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
    /// assert_eq!(buffer.as_slice()?, [0.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`]; [`Error::is_misaligned`] for elements whose alignment exceeds that of the driver's
    /// memory, which is at least a page; or any error returned by the driver.
    pub fn zeroed(context: &CudaContext, len: usize, flags: PinnedFlags) -> Result<Self, Error> {
        let bytes = byte_len::<T>(len)?;
        if bytes == 0 {
            return Ok(Self::empty(context, len));
        }
        let owner = context.make(
            "cuMemHostAlloc",
            || format!("{bytes} bytes for {len} elements, flags {flags:?}"),
            // SAFETY: `make` made the context current; the output outlives the call.
            |driver, start| unsafe { driver.cuMemHostAlloc(start, bytes, flags.bits()) },
            |start| HostAllocation { start, context: context.clone() },
        )?;
        let start = owner.start;
        // SAFETY: the driver reported success, so it gave so many bytes, at an address that is not null, of which nobody else knows yet.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        aligned::<T>(start.addr() as u64, "cuMemHostAlloc", OF_HOST)?;
        // SAFETY: 1: `owner` keeps `len` elements that the driver pinned in this context, aligned as was just seen,
        // whose bytes are zero, which is a `T`; 2: they were just made, and nobody else knows of them.
        unsafe { Self::owned_by(context, start, len, Box::new(owner)) }
    }

    /// Allocates as many elements as `source` has and copies them.
    ///
    /// Driver calls: as [`PinnedBuffer::zeroed`].
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// let buffer = PinnedBuffer::from_slice(&ctx, &[1u32, 2, 3], PinnedFlags::WRITE_COMBINED)?;
    /// assert_eq!(buffer.len(), 3);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`PinnedBuffer::zeroed`].
    pub fn from_slice(context: &CudaContext, source: &[T], flags: PinnedFlags) -> Result<Self, Error> {
        let mut buffer = Self::zeroed(context, source.len(), flags)?;
        buffer.as_mut_slice()?.copy_from_slice(source);
        Ok(buffer)
    }

    /// No bytes.
    pub(super) fn empty(context: &CudaContext, len: usize) -> Self {
        let allocation = Allocation::empty(context);
        Self { start: NonNull::dangling(), len, device: 0, allocation, of: PhantomData }
    }

    /// Pinned memory that `owner` keeps, and releases when dropped.
    ///
    /// # Safety
    /// 1. `start` points to `len` values, aligned for them, in memory that is pinned in `context` until `owner` is dropped.
    /// 2. Nothing else accesses them until then.
    pub(super) unsafe fn owned_by(
        context: &CudaContext,
        start: *mut c_void,
        len: usize,
        owner: Box<dyn std::any::Any + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut device = 0;
        // SAFETY: `start` is of memory that is pinned in this context, by the caller's duty 1, which `call` made
        // current; `device`, a local, outlives the call.
        context.call("cuMemHostGetDevicePointer", String::new, |driver| unsafe {
            driver.cuMemHostGetDevicePointer(&mut device, start, 0)
        })?;
        aligned::<T>(device, "cuMemHostGetDevicePointer", OF_HOST)?;
        // SAFETY: 1: the driver named it as the address of what `owner` keeps pinned in this context, by the caller's duty 1.
        let allocation = unsafe { Allocation::new(device, context, Origin::Foreign(owner)) };
        let start = NonNull::new(start.cast()).unwrap_or(NonNull::dangling());
        Ok(Self { start, len, device, allocation, of: PhantomData })
    }

    /// The elements, for reading; waits for the stream that writes them.
    ///
    /// Driver calls: `cuStreamSynchronize` if a stream wrote it.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut pinned = PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
    /// x.view().copy_to_pinned(&stream, &mut pinned)?;
    /// assert_eq!(pinned.as_slice()?, [1.0, 2.0, 3.0, 4.0]); // waits for the copy
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_host_access`] while a graph uses the memory, or a fault of earlier work.
    pub fn as_slice(&self) -> Result<&[T], Error> {
        free_of_graphs(&self.allocation)?;
        self.allocation.accesses().wait_for_writers()?;
        // SAFETY: `len` elements, aligned, by duty 1 of `owned_by` or because they have no size, of which any bits are a `T`, and which
        // nothing writes as long as the result lives: noted writes are done, no graph has the memory, and new work that writes needs
        // `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) })
    }

    /// The elements, for writing; waits for all streams that use them.
    ///
    /// Driver calls: `cuStreamSynchronize` for each stream that used it.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut pinned = PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?;
    /// pinned.as_mut_slice()?.fill(3.0);
    /// x.view_mut().copy_from_pinned(&stream, &pinned)?;
    /// pinned.as_mut_slice()?.fill(4.0); // waits until the copy has read it
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_host_access`] while a graph uses the memory, or a fault of earlier work.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        free_of_graphs(&self.allocation)?;
        self.allocation.accesses().wait()?;
        // SAFETY: `len` elements, aligned, by duty 1 of `owned_by` or because they have no size, of which any bits are
        // a `T`, and which nothing uses as long as the result lives: noted work is done, no graph has the memory, and
        // new work needs a borrow of this value.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) })
    }

    /// All elements, for copies.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let pinned = PinnedBuffer::from_slice(&ctx, &[5.0f32, 6.0], PinnedFlags::empty())?;
    /// x.slice_mut(..2).copy_from_pinned(&stream, pinned.view())?;
    /// assert_eq!(x.to_host_vec(&stream)?, [5.0, 6.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view(&self) -> PinnedView<'_, T> {
        PinnedView::new(self.start, self.len, &self.allocation, None)
    }

    /// All elements, for copies that write them.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut pinned = PinnedBuffer::<f32>::zeroed(&ctx, 2, PinnedFlags::empty())?;
    /// x.slice(2..).copy_to_pinned(&stream, pinned.view_mut())?;
    /// assert_eq!(pinned.as_slice()?, [3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view_mut(&mut self) -> PinnedViewMut<'_, T> {
        PinnedViewMut::new(self.start, self.len, &self.allocation, None)
    }

    /// The elements of `range`, for copies; `None` if it is not inside the buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let pinned = PinnedBuffer::from_slice(&ctx, &[5.0f32; 8], PinnedFlags::empty())?;
    /// assert!(pinned.try_slice(6..9).is_none());
    /// x.view_mut().copy_from_pinned(&stream, pinned.try_slice(..4).unwrap())?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<PinnedView<'_, T>> {
        self.view().try_slice(range)
    }

    /// The elements of `range`, for copies that write them; `None` if it is not inside the buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut pinned = PinnedBuffer::<f32>::zeroed(&ctx, 8, PinnedFlags::empty())?;
    /// x.view().copy_to_pinned(&stream, pinned.try_slice_mut(4..).unwrap())?;
    /// assert_eq!(pinned.as_slice()?[4..], [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<PinnedViewMut<'_, T>> {
        self.view_mut().try_slice(range)
    }

    /// The elements as kernels see them, for reading: each access goes over the bus.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pinned = PinnedBuffer::from_slice(&ctx, &[1u32, 2], PinnedFlags::DEVICE_MAP)?;
    /// assert_eq!(pinned.device_view().to_host_vec(&stream)?, [1, 2]); // kernels can read it, too
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn device_view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.device, self.len, &self.allocation)
    }

    /// The elements as kernels see them, for writing: each access goes over the bus.
    pub fn device_view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.device, self.len, &self.allocation)
    }

    /// The host address of the elements. Order accesses through it against streams that use them yourself.
    pub fn as_host_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// The number of elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// assert!(PinnedBuffer::<f32>::zeroed(&ctx, 0, PinnedFlags::empty())?.is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags that the driver reports for the memory. Driver call: `cuMemHostGetFlags`; none for an empty buffer.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuMemHostGetFlags")]
    pub fn flags(&self) -> Result<PinnedFlags, Error> {
        let mut flags = 0;
        if self.len * size_of::<T>() != 0 {
            // SAFETY: `start` is the address of pinned memory, which `allocation` keeps; `flags`, a local, outlives the call.
            self.context().call("cuMemHostGetFlags", String::new, |driver| unsafe {
                driver.cuMemHostGetFlags(&mut flags, self.start.as_ptr().cast())
            })?;
        }
        Ok(PinnedFlags::from_bits_retain(flags))
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        self.allocation.context()
    }

    /// Frees the memory now, after waiting for the streams that use it, and reports whether they faulted.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, PinnedBuffer};
    /// use cuda_launch::memory::PinnedFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// PinnedBuffer::<f32>::zeroed(&ctx, 4, PinnedFlags::empty())?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// A fault of earlier work; the buffer is released in any case.
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.allocation).map_or(Ok(()), |mut allocation| allocation.release())
    }
}

/// An error if a capture or a graph keeps the memory: it may run while the host looks.
pub(super) fn free_of_graphs(allocation: &Arc<Allocation>) -> Result<(), Error> {
    // Only captures and graphs hold further handles, and a graph records its uses before it releases one.
    if Arc::strong_count(allocation) > 1 {
        return Err(crate::error::ErrorKind::HostAccess(HostAccess::Graph).into());
    }
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    Ok(())
}
