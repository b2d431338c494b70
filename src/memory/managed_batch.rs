//! Prefetches and discards of many parts of managed memory in one driver call.

#![allow(unsafe_code)] // Calls of the driver on managed memory that a batch borrows, with ranges found inside it.

use cuda_driver_sys::{CUdeviceptr, CUmemLocation};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::allocation::Allocation;
use super::device_copy::DeviceCopy;
use super::location::MemoryLocation;
use super::managed::ManagedBuffer;
use crate::driver::CudaStream;
use crate::error::Error;
use crate::ordering::Submission;

/// Prefetches of managed memory that are submitted in one driver call, in no particular order among themselves.
///
/// Since CUDA 13.0; with older drivers the result is [`Error::is_unsupported`].
///
/// ```
/// use cuda_launch::memory::{ManagedAttach, MemoryLocation, PrefetchBatch};
/// use cuda_launch::{CudaContext, ManagedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let weights = ManagedBuffer::<f32>::zeroed(&stream, 1000, ManagedAttach::Global)?;
/// let results = ManagedBuffer::<u64>::zeroed(&stream, 500, ManagedAttach::Global)?;
/// let mut batch = PrefetchBatch::new();
/// batch.push(&weights, .., (&ctx).into())?.push(&results, ..100, MemoryLocation::Host)?;
/// match batch.submit(&stream) {
///     Err(error) if error.is_unsupported() => return Ok(()), // prefetch them one by one
///     done => done?,
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "cuMemPrefetchBatchAsync")]
pub struct PrefetchBatch<'a> {
    ranges: Ranges<'a>,
    places: Vec<MemoryLocation>,
}

/// Discards of managed memory that are submitted in one driver call: the contents are no longer needed, so that the driver need not
/// move them.
///
/// Since CUDA 13.0; with older drivers the result is [`Error::is_unsupported`].
///
/// ```
/// use cuda_launch::memory::{DiscardBatch, ManagedAttach};
/// use cuda_launch::{CudaContext, ManagedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut scratch = ManagedBuffer::<u32>::zeroed(&stream, 1 << 20, ManagedAttach::Global)?;
/// let mut batch = DiscardBatch::new();
/// batch.push(&mut scratch, [..])?;
/// // SAFETY: 1: all elements are written before the first is read.
/// match unsafe { batch.submit(&stream) } {
///     Err(error) if error.is_unsupported() => {} // the contents stay, which does no harm
///     done => done?,
/// }
/// scratch.view_mut().fill(&stream, 7)?;
/// assert_eq!(scratch.as_slice()?[..3], [7, 7, 7]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "cuMemDiscardBatchAsync", alias = "cuMemDiscardAndPrefetchBatchAsync")]
pub struct DiscardBatch<'a> {
    ranges: Ranges<'a>,
    of: PhantomData<&'a mut [u8]>,
}

impl<'a> PrefetchBatch<'a> {
    /// No prefetches yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the elements of `range`, which will be used at `to`. No driver call.
    ///
    /// # Errors
    /// The range is out of bounds.
    pub fn push<T: DeviceCopy>(
        &mut self,
        memory: &'a ManagedBuffer<T>,
        range: impl RangeBounds<usize>,
        to: MemoryLocation,
    ) -> Result<&mut Self, Error> {
        if self.ranges.push(memory, range, "PrefetchBatch::push")? {
            self.places.push(to);
        }
        Ok(self)
    }

    /// The number of ranges; those without elements do not count.
    pub fn len(&self) -> usize {
        self.ranges.addresses.len()
    }

    /// Whether there is nothing to prefetch.
    pub fn is_empty(&self) -> bool {
        self.ranges.addresses.is_empty()
    }

    /// Submits all prefetches to `stream`, which cannot be the default stream.
    ///
    /// Driver call: `cuMemPrefetchBatchAsync`; none for no ranges.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] before CUDA 13.0, [`Error::is_context_mismatch`] if a buffer belongs to another context than the
    /// stream, or any error returned by the driver, which may have taken some of the ranges.
    pub fn submit(self, stream: &CudaStream) -> Result<(), Error> {
        let Self { mut ranges, places } = self;
        let count = places.len();
        if count == 0 {
            return Ok(());
        }
        let work = ranges.order(stream, false)?;
        let mut raw: Vec<CUmemLocation> = places.iter().map(|place| place.to_raw()).collect();
        let mut starts: Vec<usize> = (0..count).collect();
        // SAFETY: four lists of `count`; `Ranges` keeps each range inside managed memory, which is freed after this use of it, as `work`
        // has noted it; `to_raw` wrote the numbers of the places. The stream lives as long as its handle (`StreamInner`).
        work.call(
            "cuMemPrefetchBatchAsync",
            || format!("{count} ranges, to {places:?}"),
            |driver| unsafe {
                driver.cuMemPrefetchBatchAsync(
                    ranges.addresses.as_mut_ptr(),
                    ranges.sizes.as_mut_ptr(),
                    count,
                    raw.as_mut_ptr(),
                    starts.as_mut_ptr(),
                    count,
                    0,
                    stream.raw(),
                )
            },
        )
    }
}

impl<'a> DiscardBatch<'a> {
    /// No discards yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the elements of each of `ranges`; `[..]` is all of them. No driver call.
    ///
    /// # Errors
    /// A range is out of bounds: those before it are added.
    pub fn push<T: DeviceCopy, R: RangeBounds<usize>>(
        &mut self,
        memory: &'a mut ManagedBuffer<T>,
        ranges: impl IntoIterator<Item = R>,
    ) -> Result<&mut Self, Error> {
        let memory = &*memory;
        for range in ranges {
            self.ranges.push(memory, range, "DiscardBatch::push")?;
        }
        Ok(self)
    }

    /// The number of ranges; those without elements do not count.
    pub fn len(&self) -> usize {
        self.ranges.addresses.len()
    }

    /// Whether there is nothing to discard.
    pub fn is_empty(&self) -> bool {
        self.ranges.addresses.is_empty()
    }

    /// Submits all discards to `stream`, which cannot be the default stream.
    ///
    /// Driver call: `cuMemDiscardBatchAsync`; none for no ranges.
    ///
    /// # Safety
    /// 1. No discarded element is read before it is written again, by the host, a copy or a kernel: what it has is undefined, and may be
    ///    another value each time. An error does not tell which ranges were discarded.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] before CUDA 13.0, [`Error::is_context_mismatch`] if a buffer belongs to another context than the
    /// stream, or any error returned by the driver.
    pub unsafe fn submit(self, stream: &CudaStream) -> Result<(), Error> {
        let Self { mut ranges, .. } = self;
        let count = ranges.sizes.len();
        if count == 0 {
            return Ok(());
        }
        let work = ranges.order(stream, true)?;
        let (addresses, sizes) = (ranges.addresses.as_mut_ptr(), ranges.sizes.as_mut_ptr());
        // SAFETY: two lists of `count`; `Ranges` keeps each range inside managed memory, which is freed, and used by others, after this
        // use of it, as `work` has noted it; nobody reads what was discarded, by the caller's duty 1. The stream lives as long as its
        // handle (`StreamInner`).
        work.call(
            "cuMemDiscardBatchAsync",
            || format!("{count} ranges"),
            |driver| unsafe { driver.cuMemDiscardBatchAsync(addresses, sizes, count, 0, stream.raw()) },
        )
    }

    /// As [`DiscardBatch::submit`], and prefetches all ranges to where they will be written.
    ///
    /// Driver call: `cuMemDiscardAndPrefetchBatchAsync`; none for no ranges.
    ///
    /// ```
    /// use cuda_launch::memory::{DiscardBatch, ManagedAttach};
    /// use cuda_launch::{CudaContext, ManagedBuffer};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let mut out = ManagedBuffer::<f32>::zeroed(&stream, 1 << 20, ManagedAttach::Global)?;
    /// let mut batch = DiscardBatch::new();
    /// batch.push(&mut out, [..1 << 18, ..1 << 19])?;
    /// // SAFETY: 1: what was discarded is filled before it is read.
    /// match unsafe { batch.submit_and_prefetch(&stream, (&ctx).into()) } {
    ///     Err(error) if error.is_unsupported() => {}
    ///     done => done?,
    /// }
    /// out.view_mut().fill(&stream, 0.5)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. That of [`DiscardBatch::submit`]: the prefetch does not define the contents.
    ///
    /// # Errors
    /// As for [`DiscardBatch::submit`].
    pub unsafe fn submit_and_prefetch(self, stream: &CudaStream, to: MemoryLocation) -> Result<(), Error> {
        let Self { mut ranges, .. } = self;
        let count = ranges.sizes.len();
        if count == 0 {
            return Ok(());
        }
        let work = ranges.order(stream, true)?;
        let (addresses, sizes) = (ranges.addresses.as_mut_ptr(), ranges.sizes.as_mut_ptr());
        let (mut place, mut start) = (to.to_raw(), 0);
        // SAFETY: as in `submit`; one place, whose number `to_raw` wrote, from the first range on: two lists of 1, locals that outlive the
        // call.
        work.call(
            "cuMemDiscardAndPrefetchBatchAsync",
            || format!("{count} ranges, to {to:?}"),
            |driver| unsafe {
                driver.cuMemDiscardAndPrefetchBatchAsync(
                    addresses,
                    sizes,
                    count,
                    &mut place,
                    &mut start,
                    1,
                    0,
                    stream.raw(),
                )
            },
        )
    }
}

/// Parts of managed buffers that a batch has borrowed, each inside its buffer and not empty, which the driver does not accept.
#[derive(Debug, Default)]
struct Ranges<'a> {
    addresses: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    of: Vec<&'a Arc<Allocation>>,
}

impl<'a> Ranges<'a> {
    /// Whether it was added: nothing is, where there are no elements.
    fn push<T: DeviceCopy>(
        &mut self,
        memory: &'a ManagedBuffer<T>,
        range: impl RangeBounds<usize>,
        call: &'static str,
    ) -> Result<bool, Error> {
        let (address, bytes) = memory.bytes_of(range, call)?;
        if bytes == 0 {
            return Ok(false);
        }
        self.addresses.push(address);
        self.sizes.push(bytes);
        self.of.push(memory.allocation());
        Ok(true)
    }

    /// Announces the use of all of them, after what it must come after.
    fn order<'s>(&self, stream: &'s CudaStream, written: bool) -> Result<Submission<'s>, Error> {
        for allocation in &self.of {
            stream.same_context(allocation.context(), "managed memory of the batch")?;
        }
        let mut work = Submission::on(stream);
        for allocation in &self.of {
            if written { work.writes(allocation)? } else { work.reads(allocation)? }
        }
        Ok(work)
    }
}
