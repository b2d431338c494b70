//! Prefetches of many parts of managed memory in one driver call.

#![allow(unsafe_code)] // Calls of the driver on managed memory that a batch borrows, with ranges found inside it.

use cuda_driver_sys::{CUdeviceptr, CUmemLocation};
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
    addresses: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    places: Vec<MemoryLocation>,
    /// What each range is part of.
    of: Vec<&'a Arc<Allocation>>,
}

impl<'a> PrefetchBatch<'a> {
    /// No prefetches yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the elements of `range`, which will be used at `to`. An empty range adds nothing. No driver call.
    ///
    /// # Errors
    /// The range is out of bounds.
    pub fn push<T: DeviceCopy>(
        &mut self,
        memory: &'a ManagedBuffer<T>,
        range: impl RangeBounds<usize>,
        to: MemoryLocation,
    ) -> Result<&mut Self, Error> {
        let (address, bytes) = memory.bytes_of(range, "PrefetchBatch::push")?;
        // The driver accepts no empty range.
        if bytes > 0 {
            self.addresses.push(address);
            self.sizes.push(bytes);
            self.places.push(to);
            self.of.push(memory.allocation());
        }
        Ok(self)
    }

    /// The number of ranges; those without elements do not count.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is nothing to prefetch.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Submits all prefetches to `stream`, which cannot be the default stream.
    ///
    /// Driver call: `cuMemPrefetchBatchAsync`; none for no ranges.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] before CUDA 13.0, [`Error::is_context_mismatch`] if a buffer belongs to another context than the
    /// stream, [`Error::is_capture_error`] if the stream is being captured, or any error returned by the driver, which may have taken some
    /// of the ranges.
    pub fn submit(self, stream: &CudaStream) -> Result<(), Error> {
        let Self { mut addresses, mut sizes, places, of } = self;
        let count = places.len();
        if count == 0 {
            return Ok(());
        }
        for allocation in &of {
            stream.same_context(allocation.context(), "managed memory of the batch")?;
        }
        stream.refuse_in_capture("cuMemPrefetchBatchAsync")?;
        let mut work = Submission::on(stream);
        for allocation in &of {
            work.reads(allocation)?;
        }
        let mut raw: Vec<CUmemLocation> = places.iter().map(|place| place.to_raw()).collect();
        let mut starts: Vec<usize> = (0..count).collect();
        // SAFETY: four lists of `count`; `bytes_of` found each range inside managed memory, which is freed after this use of it, as
        // `work` has noted it; `to_raw` wrote the numbers of the places. The stream lives as long as its handle (`StreamInner`).
        work.call(
            "cuMemPrefetchBatchAsync",
            || format!("{count} ranges, to {places:?}"),
            |driver| unsafe {
                driver.cuMemPrefetchBatchAsync(
                    addresses.as_mut_ptr(),
                    sizes.as_mut_ptr(),
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
