//! Managed memory: one address for the host and all devices.

#![allow(unsafe_code)] // Memory that this value owns; the host sees it only when no stream uses it.

use cuda_driver_sys::{CUdevice_attribute, CUmem_range_attribute as R, CUmemAttach_flags};
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use super::advice::{MemoryAdvice, RangeState};
use super::aligned::{OF_HOST, aligned};
use super::allocation::{Allocation, Origin};
use super::buffer::byte_len;
use super::buffer::view::{DeviceView, DeviceViewMut, resolve};
use super::device_copy::DeviceCopy;
use super::device_slice::{DeviceSlice, DeviceSliceMut, SliceParts};
use super::location::MemoryLocation;
use super::pinned::free_of_graphs;
use crate::driver::{CudaContext, CudaStream, older};
use crate::error::{Error, ErrorKind, HostAccess, LengthMismatch};
use crate::ordering::Submission;

/// Which streams may use managed memory on devices without concurrent access (`CUmemAttach_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUmemAttach_flags")]
pub enum ManagedAttach {
    /// Every stream of every device.
    #[default]
    Global,
    /// The host alone, until it is attached otherwise.
    Host,
    /// The stream that it is attached to, and the host while that stream is idle.
    Single,
}

impl ManagedAttach {
    fn to_raw(self) -> u32 {
        match self {
            Self::Global => CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0,
            Self::Host => CUmemAttach_flags::CU_MEM_ATTACH_HOST.0,
            Self::Single => CUmemAttach_flags::CU_MEM_ATTACH_SINGLE.0,
        }
    }
}

/// `len` elements that the host and all devices access at the same address; pages migrate to where they are used.
///
/// It is used like a [`DeviceBuffer`](crate::DeviceBuffer): kernels take it as `slice(x)` and `slice_mut(x)`, views of
/// it can be copied, and streams are ordered by the accesses that it tracks. The host accesses the elements without a
/// copy, after waiting for the streams that use them:
///
/// ```
/// use cuda_launch::memory::{ManagedAttach, MemoryAdvice, MemoryLocation};
/// use cuda_launch::{CudaContext, ManagedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut memory = ManagedBuffer::from_slice(&stream, &[1u32, 2, 3], ManagedAttach::Global)?;
/// memory.advise(.., MemoryAdvice::PreferredLocation((&ctx).into()))?;
/// memory.prefetch(&stream, .., (&ctx).into())?;
/// memory.view_mut().slice(..1).set_zero(&stream)?;
/// assert_eq!(memory.as_slice()?, [0, 2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Dropping it waits for the device, because `cuMemFree` does.
#[derive(Debug)]
#[doc(alias = "cuMemAllocManaged")]
pub struct ManagedBuffer<T: DeviceCopy> {
    address: u64,
    len: usize,
    /// Whether the host may access it while kernels run.
    concurrent: bool,
    allocation: Arc<Allocation>,
    of: PhantomData<T>,
}

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// Allocates `len` elements and leaves them uninitialised.
    ///
    /// Driver calls: `cuMemAllocManaged`, `cuDeviceGetAttribute`; none for an empty buffer.
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`]; [`Error::is_misaligned`] for elements whose alignment exceeds that of the driver's
    /// memory; `CUDA_ERROR_INVALID_VALUE` for [`ManagedAttach::Single`], which only [`ManagedBuffer::attach`] takes.
    pub fn uninit(context: &CudaContext, len: usize, attach: ManagedAttach) -> Result<Self, Error> {
        let bytes = byte_len::<T>(len)?;
        let (allocation, concurrent) = if bytes == 0 {
            (Allocation::empty(context), true)
        } else {
            let allocation = context.make(
                "cuMemAllocManaged",
                || format!("{bytes} bytes for {len} elements, {attach:?}"),
                // SAFETY: `make` made the context current; the output outlives the call.
                |driver, address| unsafe { driver.cuMemAllocManaged(address, bytes, attach.to_raw()) },
                // SAFETY: 1: it was just allocated, in this context, to be freed by `cuMemFree`; its address is in this function alone.
                |address| unsafe { Allocation::new(address, context, Origin::Plain) },
            )?;
            let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
            (allocation, context.device_attribute(attribute).is_ok_and(|value| value != 0))
        };
        let address = allocation.address();
        aligned::<T>(address, "cuMemAllocManaged", OF_HOST)?;
        Ok(Self { address, len, concurrent, allocation, of: PhantomData })
    }

    /// Allocates `len` elements whose bytes are zero; they are zeroed on `stream`.
    ///
    /// Driver calls: as [`ManagedBuffer::uninit`], and `cuMemsetD8Async`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = ManagedBuffer::<f32>::zeroed(&stream, 4, ManagedAttach::Global)?;
    /// assert_eq!(x.as_slice()?, [0.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ManagedBuffer::uninit`], or the stream captures.
    pub fn zeroed(stream: &CudaStream, len: usize, attach: ManagedAttach) -> Result<Self, Error> {
        stream.refuse_in_capture("cuMemAllocManaged")?;
        let mut buffer = Self::uninit(stream.context(), len, attach)?;
        buffer.view_mut().set_zero(stream)?;
        Ok(buffer)
    }

    /// Allocates as many elements as `source` has and copies them; returns when the copy is complete.
    ///
    /// Driver calls: as [`ManagedBuffer::uninit`], `cuMemcpyHtoDAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = ManagedBuffer::from_slice(&stream, &[1u32, 2, 3], ManagedAttach::Global)?;
    /// assert_eq!(x.as_slice()?, [1, 2, 3]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ManagedBuffer::uninit`], or the stream captures.
    pub fn from_slice(stream: &CudaStream, source: &[T], attach: ManagedAttach) -> Result<Self, Error> {
        stream.refuse_in_capture("cuMemAllocManaged")?;
        let mut buffer = Self::uninit(stream.context(), source.len(), attach)?;
        buffer.view_mut().copy_from_host(stream, source)?;
        Ok(buffer)
    }

    /// The elements, for reading; waits for the stream that writes them.
    ///
    /// Driver calls: `cuStreamSynchronize` if a stream wrote them.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut x = ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?;
    /// x.view_mut().fill(&stream, 7)?;
    /// assert_eq!(x.as_slice()?, [7; 4]); // waits for the fill
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_host_access`] on a device without concurrent access, and while a graph uses the memory; or a fault
    /// of earlier work.
    pub fn as_slice(&self) -> Result<&[T], Error> {
        self.is_for_host()?;
        self.allocation.accesses().wait_for_writers()?;
        // SAFETY: `len` elements at an address that `uninit` found to be aligned, or, where they have no bytes, at a
        // dangling one; any bits are a `T`, and nothing writes them as long as the result lives: noted writes are done,
        // no graph has the memory, and new work that writes needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.as_host_ptr(), self.len) })
    }

    /// The elements, for writing; waits for all streams that use them.
    ///
    /// Driver calls: `cuStreamSynchronize` for each stream that used them.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut x = ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?;
    /// x.as_mut_slice()?[2] = 5;
    /// assert_eq!(x.view().to_host_vec(&stream)?, [0, 0, 5, 0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ManagedBuffer::as_slice`].
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
        self.is_for_host()?;
        self.allocation.accesses().wait()?;
        // SAFETY: `len` elements at an address that `uninit` found to be aligned, or, where they have no bytes, at a
        // dangling one; any bits are a `T`, and nothing uses them as long as the result lives: noted work is done, no
        // graph has the memory, and new work needs a borrow of this value.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_host_ptr(), self.len) })
    }

    fn is_for_host(&self) -> Result<(), Error> {
        if !self.concurrent {
            return Err(ErrorKind::HostAccess(HostAccess::Managed).into());
        }
        free_of_graphs(&self.allocation)
    }

    /// The host address of the elements. Order accesses through it against streams that use them yourself.
    pub fn as_host_ptr(&self) -> *mut T {
        match self.address {
            0 => std::ptr::NonNull::dangling().as_ptr(),
            address => std::ptr::with_exposed_provenance_mut(address as usize),
        }
    }

    /// All elements, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let x = ManagedBuffer::from_slice(&stream, &[1u32, 2, 3], ManagedAttach::Global)?;
    /// assert_eq!(x.view().slice(1..).to_host_vec(&stream)?, [2, 3]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.address, self.len, &self.allocation)
    }

    /// All elements, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut x = ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?;
    /// x.view_mut().slice(..2).fill(&stream, 1)?;
    /// assert_eq!(x.as_slice()?, [1, 1, 0, 0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, &self.allocation)
    }

    /// Hints to the driver how the elements of `range` will be used.
    ///
    /// Driver call: `cuMemAdvise_v2`, or its first ABI before CUDA 12.2; none for no elements.
    ///
    /// # Errors
    /// The range is out of bounds, or any error returned by the driver.
    #[doc(alias = "cuMemAdvise")]
    pub fn advise(&self, range: impl RangeBounds<usize>, advice: MemoryAdvice) -> Result<(), Error> {
        let (address, bytes) = self.bytes_of(range, "advise")?;
        if bytes == 0 {
            return Ok(());
        }
        let (raw, location) = advice.to_raw();
        let asked = || format!("{advice:?} for {bytes} bytes");
        // SAFETY: 1: `bytes_of` found the range inside this buffer, whose `allocation` keeps the managed memory as long
        // as it is borrowed here, in the context that `call` made current; `to_raw` wrote the number of the place.
        self.context().call("cuMemAdvise", asked, |driver| unsafe {
            older::advise(driver, address, bytes, raw, location.to_raw())
        })
    }

    /// Moves the elements of `range` to where they will be used, in stream order on `stream`.
    ///
    /// Driver call: `cuMemPrefetchAsync_v2`, or its first ABI before CUDA 12.2; none for no elements.
    ///
    /// # Errors
    /// The range is out of bounds, the stream belongs to another context or is being captured, or any error returned by the driver.
    #[doc(alias = "cuMemPrefetchAsync")]
    pub fn prefetch(
        &self,
        stream: &CudaStream,
        range: impl RangeBounds<usize>,
        to: MemoryLocation,
    ) -> Result<(), Error> {
        let (address, bytes) = self.bytes_of(range, "prefetch")?;
        stream.same_context(self.context(), "the managed memory")?;
        if bytes == 0 {
            return Ok(());
        }
        stream.refuse_in_capture("cuMemPrefetchAsync")?;
        let mut work = Submission::on(stream);
        work.reads(&self.allocation)?;
        let asked = || format!("{bytes} bytes to {to:?}");
        // SAFETY: 1: `bytes_of` found the range inside this buffer, whose managed memory is freed after this use of it,
        // as `work` has noted it; `to_raw` wrote the number of the place; the stream lives as long as its handle
        // (`StreamInner`), and is of the same context.
        work.call("cuMemPrefetchAsync", asked, |driver| unsafe {
            older::prefetch(driver, address, bytes, to.to_raw(), stream.raw())
        })
    }

    /// Sets which streams may use the memory from now on, in stream order on `stream`; for devices without concurrent access.
    ///
    /// Driver call: `cuStreamAttachMemAsync`; none for an empty buffer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut x = ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?;
    /// x.attach(&stream, ManagedAttach::Global)?; // every stream may use it
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context or is being captured, or any error returned by the driver. Drivers differ in whether
    /// memory may be attached to the default stream.
    #[doc(alias = "cuStreamAttachMemAsync")]
    pub fn attach(&mut self, stream: &CudaStream, attach: ManagedAttach) -> Result<(), Error> {
        stream.same_context(self.context(), "the managed memory")?;
        if self.address == 0 {
            return Ok(());
        }
        stream.refuse_in_capture("cuStreamAttachMemAsync")?;
        let mut work = Submission::on(stream);
        work.writes(&self.allocation)?;
        // SAFETY: `address` starts this buffer's managed memory, which is freed after this use of it, as `work` has noted it; 0 stands for
        // all of it. The stream lives as long as its handle (`StreamInner`), and is of the same context, as was checked.
        work.call(
            "cuStreamAttachMemAsync",
            || format!("{attach:?}"),
            |driver| unsafe { driver.cuStreamAttachMemAsync(stream.raw(), self.address, 0, attach.to_raw()) },
        )
    }

    /// The hints given for the elements of `range`, and where they were last prefetched to; properties that they do not
    /// share are left out.
    ///
    /// Driver call: `cuMemRangeGetAttribute`, four times; none for no elements.
    ///
    /// # Errors
    /// The range is out of bounds, or any error returned by the driver.
    #[doc(alias = "cuMemRangeGetAttribute", alias = "cuMemRangeGetAttributes")]
    pub fn range_state(&self, range: impl RangeBounds<usize>) -> Result<RangeState, Error> {
        let (address, bytes) = self.bytes_of(range, "range_state")?;
        let get = |attribute: R, room: usize| {
            let mut numbers = vec![cuda_driver_sys::CU_DEVICE_INVALID; room];
            let size = size_of_val(numbers.as_slice());
            if bytes == 0 {
                return Ok(numbers);
            }
            self.context().call(
                "cuMemRangeGetAttribute",
                || format!("{attribute:?}"),
                // SAFETY: the numbers have `size` bytes, and outlive the call; `bytes_of` found the range inside this buffer, whose
                // `allocation` keeps the managed memory as long as it is borrowed here.
                |driver| unsafe {
                    driver.cuMemRangeGetAttribute(
                        numbers.as_mut_ptr().cast(),
                        size,
                        attribute,
                        address,
                        bytes,
                    )
                },
            )?;
            Ok::<_, Error>(numbers)
        };
        let one = |attribute| get(attribute, 1).map(|numbers| numbers.first().copied().unwrap_or(-2));
        let accessed = get(R::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, RangeState::MOST_LOCATIONS)?;
        Ok(RangeState {
            read_mostly: one(R::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY)? == 1,
            preferred_location: MemoryLocation::from_number(one(
                R::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
            )?),
            accessed_by: accessed.into_iter().filter_map(MemoryLocation::from_number).collect(),
            last_prefetch: MemoryLocation::from_number(one(
                R::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
            )?),
        })
    }

    /// What keeps the memory, and has its accesses.
    pub(super) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    /// Address and size in bytes of a range of elements.
    pub(super) fn bytes_of(
        &self,
        range: impl RangeBounds<usize>,
        call: &'static str,
    ) -> Result<(u64, usize), Error> {
        let end = match range.end_bound() {
            std::ops::Bound::Included(end) => end.saturating_add(1),
            std::ops::Bound::Excluded(end) => *end,
            std::ops::Bound::Unbounded => self.len,
        };
        let Some(Range { start, end }) = resolve(range, self.len) else {
            let mismatch = LengthMismatch { call, source_len: end, destination_len: self.len };
            return Err(ErrorKind::Length(mismatch).into());
        };
        Ok((self.address + (start * size_of::<T>()) as u64, (end - start) * size_of::<T>()))
    }

    /// The number of elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert_eq!(ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?.len(), 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context that it was allocated in.
    pub fn context(&self) -> &CudaContext {
        self.allocation.context()
    }

    /// Frees the memory now, after all work on the device, and reports any error. Driver call: `cuMemFree`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// use cuda_launch::memory::ManagedAttach;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// ManagedBuffer::<u32>::zeroed(&stream, 4, ManagedAttach::Global)?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the buffer is released in any case.
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.allocation).map_or(Ok(()), |mut allocation| allocation.release())
    }
}

// SAFETY: 1: it owns them; 2: `allocation` keeps the memory, and this value the allocation; 3: neither is ever changed.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSlice for ManagedBuffer<T> {
    type Element = T;

    #[inline(always)]
    fn parts(&self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.allocation)
    }
}

// SAFETY: 1: it owns its memory, and the host sees it only through a borrow.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSliceMut for ManagedBuffer<T> {
    #[inline(always)]
    fn parts_mut(&mut self) -> SliceParts<'_, T> {
        SliceParts::new(&self.address, &self.len, &self.allocation)
    }
}
