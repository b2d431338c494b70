//! Many copies in one driver call.

#![allow(unsafe_code)] // Calls of the driver on memory that the batch borrows and whose lengths were compared.

use cuda_driver_sys::{CUdeviceptr, CUmemcpyAttributes, CUmemcpySrcAccessOrder};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::driver::{CudaStream, older};
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::memory::allocation::Allocation;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::{DeviceSlice, DeviceSliceMut};
use crate::ordering::{Submission, submit_and_wait};

/// Copies that are submitted in one driver call, in no particular order among themselves.
///
/// [`CopyBatch::submit`] waits if host memory is involved. Since CUDA 12.8; with older drivers the result is
/// [`Error::is_unsupported`].
///
/// ```
/// use cuda_launch::memory::CopyBatch;
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let source = DeviceBuffer::from_host(&stream, &[1u8, 2, 3])?;
/// let (mut first, mut second) = (DeviceBuffer::zeroed(&stream, 3)?, DeviceBuffer::zeroed(&stream, 2)?);
/// let mut batch = CopyBatch::new();
/// batch.push(&mut first, &source)?;
/// batch.push_from_host(&mut second, &[0.5f32, 1.5])?;
/// match batch.submit(&stream) {
///     Err(error) if error.is_unsupported() => return Ok(()), // copy them one by one
///     done => done?,
/// }
/// assert_eq!(first.to_host_vec(&stream)?, [1, 2, 3]);
/// assert_eq!(second.to_host_vec(&stream)?, [0.5, 1.5]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "cuMemcpyBatchAsync")]
pub struct CopyBatch<'a> {
    copies: Vec<Copy<'a>>,
    of: PhantomData<&'a mut [u8]>,
}

#[derive(Debug)]
struct Copy<'a> {
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    to: Option<&'a Arc<Allocation>>,
    from: Option<&'a Arc<Allocation>>,
}

impl<'a> CopyBatch<'a> {
    /// No copies yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a copy of all of `source` to all of `target`. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::CopyBatch;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut y = DeviceBuffer::<f32>::zeroed(&stream, 4)?;
    /// let mut batch = CopyBatch::new();
    /// batch.push(&mut y, &x)?;
    /// batch.submit(&stream)?;
    /// assert_eq!(y.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ.
    pub fn push<T: DeviceCopy>(
        &mut self,
        target: &'a mut impl DeviceSliceMut<Element = T>,
        source: &'a impl DeviceSlice<Element = T>,
    ) -> Result<&mut Self, Error> {
        let (to, from) = (target.parts_mut(), source.parts());
        same_len(*from.len, *to.len)?;
        self.add(Copy {
            target: *to.address,
            source: *from.address,
            bytes: *to.len * size_of::<T>(),
            to: Some(to.allocation),
            from: Some(from.allocation),
        })
    }

    /// Adds a copy of all of `source`, which is read before `submit` returns, over all of `target`. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::CopyBatch;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let host = [5.0; 4];
    /// let mut batch = CopyBatch::new();
    /// batch.push_from_host(&mut x, &host)?;
    /// batch.submit(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, host);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ.
    pub fn push_from_host<T: DeviceCopy>(
        &mut self,
        target: &'a mut impl DeviceSliceMut<Element = T>,
        source: &'a [T],
    ) -> Result<&mut Self, Error> {
        let to = target.parts_mut();
        same_len(source.len(), *to.len)?;
        self.add(Copy {
            target: *to.address,
            source: source.as_ptr().expose_provenance() as u64,
            bytes: *to.len * size_of::<T>(),
            to: Some(to.allocation),
            from: None,
        })
    }

    /// Adds a copy of all of `source` to all of `target`, for which `submit` waits. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::CopyBatch;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut host = [0.0; 4];
    /// let mut batch = CopyBatch::new();
    /// batch.push_to_host(&mut host, &x)?;
    /// batch.submit(&stream)?;
    /// assert_eq!(host, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ.
    pub fn push_to_host<T: DeviceCopy>(
        &mut self,
        target: &'a mut [T],
        source: &'a impl DeviceSlice<Element = T>,
    ) -> Result<&mut Self, Error> {
        let from = source.parts();
        same_len(*from.len, target.len())?;
        self.add(Copy {
            target: target.as_mut_ptr().expose_provenance() as u64,
            source: *from.address,
            bytes: *from.len * size_of::<T>(),
            to: None,
            from: Some(from.allocation),
        })
    }

    /// Empty copies are left out: the driver does not accept them.
    fn add(&mut self, copy: Copy<'a>) -> Result<&mut Self, Error> {
        if copy.bytes != 0 {
            self.copies.push(copy);
        }
        Ok(self)
    }

    /// The number of copies; those without elements do not count.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Submits all copies to `stream`, which cannot be the default stream; waits only if host memory is involved.
    ///
    /// Driver calls: `cuMemcpyBatchAsync`, `cuStreamSynchronize` for host memory; none for no copies.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::CopyBatch;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let (mut left, mut right) = ([0.0; 2], [0.0; 2]);
    /// let (first, last) = x.split_at(2);
    /// let mut batch = CopyBatch::new();
    /// batch.push_to_host(&mut left, &first)?.push_to_host(&mut right, &last)?;
    /// batch.submit(&stream)?;
    /// assert_eq!((left, right), ([1.0, 2.0], [3.0, 4.0]));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`] before CUDA 12.8, [`Error::is_context_mismatch`] if a buffer belongs to another
    /// context than the stream, or any error returned by the driver.
    pub fn submit(self, stream: &CudaStream) -> Result<(), Error> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let work = self.order(stream)?;
        let mut lists = Lists::of(&self.copies);
        let count = lists.targets.len();
        let submit = || {
            // SAFETY: 1: three lists of `count`, two of a run each. `push` and its like compared lengths, `order` the
            // contexts. Device memory is freed, and used by others, after the copies, which have noted their accesses.
            // Host memory `self` borrows until `submit_and_wait` has waited. The stream lives as long as its handle (`StreamInner`).
            work.call(
                "cuMemcpyBatchAsync",
                || format!("{count} copies"),
                |driver| unsafe {
                    older::copy_batch(
                        driver,
                        &mut lists.targets,
                        &mut lists.sources,
                        &mut lists.sizes,
                        &mut lists.attributes,
                        &mut lists.starts,
                        stream.raw(),
                    )
                },
            )
        };
        if self.has_host() { submit_and_wait(stream, submit) } else { submit() }
    }

    /// Whether host memory takes part.
    fn has_host(&self) -> bool {
        self.copies.iter().any(|copy| copy.to.is_none() || copy.from.is_none())
    }

    /// Announces the copies, after what they must come after.
    fn order<'s>(&self, stream: &'s CudaStream) -> Result<Submission<'s>, Error> {
        for allocation in self.copies.iter().flat_map(|copy| [copy.to, copy.from]).flatten() {
            stream.same_context(allocation.context(), "a buffer of the batch")?;
        }
        if self.has_host() {
            stream.refuse_in_capture("cuMemcpyBatchAsync")?;
        }
        let mut work = Submission::on(stream);
        for copy in &self.copies {
            copy.from.map_or(Ok(()), |allocation| work.reads(allocation))?;
            copy.to.map_or(Ok(()), |allocation| work.writes(allocation))?;
        }
        Ok(work)
    }
}

/// The batch as the driver takes it: one attribute is that of all copies.
struct Lists {
    targets: Vec<CUdeviceptr>,
    sources: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    attributes: [CUmemcpyAttributes; 1],
    starts: [usize; 1],
}

impl Lists {
    fn of(copies: &[Copy<'_>]) -> Self {
        Self {
            targets: copies.iter().map(|copy| copy.target).collect(),
            sources: copies.iter().map(|copy| copy.source).collect(),
            sizes: copies.iter().map(|copy| copy.bytes).collect(),
            // Of the host, too, which is there until the copies are done. To read it during the call is not only that to a driver 580: the
            // copy itself was seen to come before earlier work of the stream.
            attributes: [CUmemcpyAttributes {
                srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
                ..Default::default()
            }],
            starts: [0],
        }
    }
}

fn same_len(source_len: usize, destination_len: usize) -> Result<(), Error> {
    if source_len == destination_len {
        return Ok(());
    }
    let call = "CopyBatch::push";
    Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into())
}
