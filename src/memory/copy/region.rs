//! Copies of rows and planes between host memory, device memory, pitched buffers and arrays.
//!
//! One function does them all; only the way the two sides are specified differs.

#![allow(unsafe_code)] // Calls of the driver on regions that were checked against the memory both sides borrow.

use cuda_driver_sys::{self as sys, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUmemorytype};
use std::marker::PhantomData;

use super::layout::{Bounds, Extent, Offset, Owner, Place, RowLayout, Side};
use crate::driver::CudaStream;
use crate::error::Error;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::{DeviceSlice, DeviceSliceMut};
use crate::ordering::{Submission, submit_and_wait};

/// The source of a copy of rows and planes.
///
/// ```
/// use cuda_launch::memory::{CopySource, CopyTarget, Extent, RowLayout};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// // Columns 2 and 3 of a 4 x 3 image.
/// let image = DeviceBuffer::from_host(&stream, &[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23])?;
/// let mut columns = [0; 6];
/// stream.copy_region(
///     &CopySource::device(&image, RowLayout::packed::<i32>(4, 3)).at(2, 0, 0),
///     &mut CopyTarget::host(&mut columns, RowLayout::packed::<i32>(2, 3)),
///     Extent::rows(2, 3),
/// )?;
/// assert_eq!(columns, [2, 3, 12, 13, 22, 23]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUDA_MEMCPY3D")]
pub struct CopySource<'a, T: DeviceCopy> {
    pub(in crate::memory) side: Side<'a>,
    of: PhantomData<&'a [T]>,
}

/// The target of a copy of rows and planes; see [`CopySource`] for an example.
#[derive(Debug)]
#[doc(alias = "CUDA_MEMCPY3D")]
pub struct CopyTarget<'a, T: DeviceCopy> {
    pub(in crate::memory) side: Side<'a>,
    of: PhantomData<&'a mut [T]>,
}

impl<'a, T: DeviceCopy> CopySource<'a, T> {
    /// Host memory. A copy from it returns when it is complete.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::{CopySource, Extent, PitchedBuffer, RowLayout};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let pixels = [1u8, 2, 3, 4];
    /// let source = CopySource::host(&pixels, RowLayout::packed::<u8>(2, 2));
    /// let mut image = PitchedBuffer::<u8>::uninit(&stream, 2, 2)?;
    /// stream.copy_region(&source, &mut image.as_target(), Extent::rows(2, 2))?;
    /// assert_eq!(image.to_host_vec(&stream)?, pixels);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn host(memory: &'a [T], layout: RowLayout) -> Self {
        let place = Place::Host(memory.as_ptr().cast_mut().cast());
        Self::new(place, Bounds::Linear(size_of_val(memory), layout), Owner::Host)
    }

    /// Device memory: a buffer or view. It may be dropped while the copy runs: its memory is freed after the copy.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{CopySource, CopyTarget, Extent, RowLayout};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let source = CopySource::device(&x, RowLayout::packed::<f32>(2, 2));
    /// let mut column = [0.0; 2];
    /// let mut target = CopyTarget::host(&mut column, RowLayout::packed::<f32>(1, 2));
    /// stream.copy_region(&source.at(1, 0, 0), &mut target, Extent::rows(1, 2))?;
    /// assert_eq!(column, [2.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn device<S: DeviceSlice<Element = T> + ?Sized>(memory: &'a S, layout: RowLayout) -> Self {
        let parts = memory.parts();
        let bounds = Bounds::Linear(parts.len * size_of::<T>(), layout);
        Self::new(Place::Device(*parts.address), bounds, Owner::Device(parts.allocation))
    }

    pub(in crate::memory) fn new(place: Place, bounds: Bounds, owner: Owner<'a>) -> Self {
        let side = Side { name: "source", place, bounds, origin: Offset::default(), owner };
        Self { side, of: PhantomData }
    }

    /// Starts at `x` elements, `y` rows and `z` planes into the memory, instead of at its start.
    #[must_use]
    pub fn at(mut self, x: usize, y: usize, z: usize) -> Self {
        self.side.origin = Offset { x, y, z };
        self
    }
}

impl<'a, T: DeviceCopy> CopyTarget<'a, T> {
    /// Host memory. A copy to it returns when it is complete.
    pub fn host(memory: &'a mut [T], layout: RowLayout) -> Self {
        let bytes = size_of_val(memory);
        Self::new(Place::Host(memory.as_mut_ptr().cast()), Bounds::Linear(bytes, layout), Owner::Host)
    }

    /// Device memory: a buffer or mutable view. It may be dropped while the copy runs: its memory is freed after the
    /// copy.
    pub fn device<S: DeviceSliceMut<Element = T> + ?Sized>(memory: &'a mut S, layout: RowLayout) -> Self {
        let parts = memory.parts_mut();
        let bounds = Bounds::Linear(parts.len * size_of::<T>(), layout);
        Self::new(Place::Device(*parts.address), bounds, Owner::Device(parts.allocation))
    }

    pub(in crate::memory) fn new(place: Place, bounds: Bounds, owner: Owner<'a>) -> Self {
        let side = Side { name: "target", place, bounds, origin: Offset::default(), owner };
        Self { side, of: PhantomData }
    }

    /// Starts at `x` elements, `y` rows and `z` planes into the memory, instead of at its start.
    #[must_use]
    pub fn at(mut self, x: usize, y: usize, z: usize) -> Self {
        self.side.origin = Offset { x, y, z };
        self
    }
}

impl CudaStream {
    /// Copies `extent` elements, rows and planes from `source` to `target`, on this stream.
    ///
    /// Returns immediately unless host memory is involved: then it returns when the copy is complete. If both regions
    /// overlap in the same memory, the contents of the target afterwards are unspecified. A region without elements
    /// makes no driver call.
    ///
    /// Driver calls: `cuMemcpy2DAsync` for one plane, `cuMemcpy3DAsync` for more; `cuStreamSynchronize` for host memory.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`] if a side has no such region, [`Error::is_context_mismatch`] if one belongs to
    /// another context (use [`CudaStream::copy_region_peer`] for that), [`Error::is_refused_in_capture`] for host memory on
    /// a stream that captures, or any error returned by the driver.
    #[doc(alias = "cuMemcpy2D")]
    #[doc(alias = "cuMemcpy3D")]
    pub fn copy_region<T: DeviceCopy>(
        &self,
        source: &CopySource<'_, T>,
        target: &mut CopyTarget<'_, T>,
        extent: Extent,
    ) -> Result<(), Error> {
        let pair = Pair { source: &source.side, target: &target.side, extent, size: size_of::<T>() };
        for side in [pair.source, pair.target] {
            if let Some(context) = side.owner.context() {
                self.same_context(context, &format!("the {}", side.name))?;
            }
        }
        if !pair.check()? {
            return Ok(());
        }
        let call = if pair.is_flat() { "cuMemcpy2DAsync" } else { "cuMemcpy3DAsync" };
        let work = pair.order(self, call)?;
        pair.submit(self, || if pair.is_flat() { pair.copy_rows(work) } else { pair.copy_planes(work) })
    }

    /// Like [`CudaStream::copy_region`], between memory of two contexts, which may be on two devices.
    ///
    /// The stream belongs to either context. Host memory and memory without its own context count as the stream's.
    ///
    /// Driver calls: `cuMemcpy3DPeerAsync`; `cuStreamSynchronize` for host memory.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`] if a side has no such region, [`Error::is_context_mismatch`] if one belongs to
    /// another driver than the stream, or any error returned by the driver.
    #[doc(alias = "cuMemcpy3DPeerAsync")]
    pub fn copy_region_peer<T: DeviceCopy>(
        &self,
        source: &CopySource<'_, T>,
        target: &mut CopyTarget<'_, T>,
        extent: Extent,
    ) -> Result<(), Error> {
        let pair = Pair { source: &source.side, target: &target.side, extent, size: size_of::<T>() };
        for side in [pair.source, pair.target] {
            if let Some(context) = side.owner.context() {
                self.context().same_driver(context, &format!("the {}", side.name), "the stream")?;
            }
        }
        if !pair.check()? {
            return Ok(());
        }
        let work = pair.order(self, "cuMemcpy3DPeerAsync")?;
        let whole = pair.peer(self);
        pair.submit(self, || {
            // SAFETY: `check` found both regions inside their memory, of the contexts that `whole` names, or the
            // host's. Device memory is freed, and used by others, after the copy, which has noted its accesses; host
            // memory is borrowed until `submit` has waited. Where both overlap any bits are a `T`. The stream lives as
            // long as this handle (`StreamInner`).
            work.call(
                "cuMemcpy3DPeerAsync",
                || pair.asked(),
                |driver| unsafe { driver.cuMemcpy3DPeerAsync(&whole, self.raw()) },
            )
        })
    }
}

/// Both sides of a copy and how much it takes.
struct Pair<'a> {
    source: &'a Side<'a>,
    target: &'a Side<'a>,
    extent: Extent,
    /// Bytes of an element.
    size: usize,
}

impl Pair<'_> {
    /// Whether there is something to copy; an error if it is not inside both sides.
    fn check(&self) -> Result<bool, Error> {
        self.source.check(self.extent, self.size)?;
        self.target.check(self.extent, self.size)?;
        Ok(self.size != 0 && !self.extent.is_empty())
    }

    /// Announces the copy, after the work that uses either side. Host memory cannot be part of a captured copy.
    fn order<'s>(&self, stream: &'s CudaStream, call: &'static str) -> Result<Submission<'s>, Error> {
        if self.source.is_host() || self.target.is_host() {
            stream.refuse_in_capture(call)?;
        }
        let mut work = Submission::on(stream);
        self.source.owner.note(&mut work, false)?;
        self.target.owner.note(&mut work, true)?;
        Ok(work)
    }

    /// Submits, and waits if the caller's host memory takes part.
    fn submit(&self, stream: &CudaStream, submit: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let host = self.source.is_host() || self.target.is_host();
        if host { submit_and_wait(stream, submit) } else { submit() }
    }

    fn copy_rows(&self, work: Submission<'_>) -> Result<(), Error> {
        let (rows, stream) = (self.flat(), work.stream().raw());
        // SAFETY: `check` found both regions inside their memory, which is of the stream's context, as `copy_region` compared, which alone
        // calls this, or the host's. Device memory is freed, and used by others, after the copy, which has noted its accesses; host memory
        // is borrowed until `submit` has waited. If the regions overlap, the target gets unspecified bits, and any bits are a valid `T`.
        // The stream lives as long as its handle (`StreamInner`).
        work.call(
            "cuMemcpy2DAsync",
            || self.asked(),
            |driver| unsafe { driver.cuMemcpy2DAsync(&rows, stream) },
        )
    }

    fn copy_planes(&self, work: Submission<'_>) -> Result<(), Error> {
        let (planes, stream) = (self.whole(), work.stream().raw());
        // SAFETY: `check` found both regions inside their memory, which is of the stream's context, as `copy_region` compared, which alone
        // calls this, or the host's. Device memory is freed, and used by others, after the copy, which has noted its accesses; host memory
        // is borrowed until `submit` has waited. If the regions overlap, the target gets unspecified bits, and any bits are a valid `T`.
        // The stream lives as long as its handle (`StreamInner`).
        work.call(
            "cuMemcpy3DAsync",
            || self.asked(),
            |driver| unsafe { driver.cuMemcpy3DAsync(&planes, stream) },
        )
    }

    /// Whether `cuMemcpy2D` can say it.
    fn is_flat(&self) -> bool {
        self.extent.depth == 1 && self.source.origin.z == 0 && self.target.origin.z == 0
    }

    fn asked(&self) -> String {
        let Extent { width, height, depth } = self.extent;
        format!("{width} x {height} x {depth} elements of {} bytes", self.size)
    }

    fn flat(&self) -> CUDA_MEMCPY2D {
        let (from, to) = (Raw::of(self.source), Raw::of(self.target));
        CUDA_MEMCPY2D {
            srcXInBytes: self.source.origin.x * self.size,
            srcY: self.source.origin.y,
            srcMemoryType: from.kind,
            srcHost: from.host,
            srcDevice: from.device,
            srcArray: from.array,
            srcPitch: from.layout.pitch,
            dstXInBytes: self.target.origin.x * self.size,
            dstY: self.target.origin.y,
            dstMemoryType: to.kind,
            dstHost: to.host,
            dstDevice: to.device,
            dstArray: to.array,
            dstPitch: to.layout.pitch,
            WidthInBytes: self.extent.width * self.size,
            Height: self.extent.height,
        }
    }

    fn whole(&self) -> CUDA_MEMCPY3D {
        let (from, to) = (Raw::of(self.source), Raw::of(self.target));
        CUDA_MEMCPY3D {
            srcXInBytes: self.source.origin.x * self.size,
            srcY: self.source.origin.y,
            srcZ: self.source.origin.z,
            srcMemoryType: from.kind,
            srcHost: from.host,
            srcDevice: from.device,
            srcArray: from.array,
            srcPitch: from.layout.pitch,
            srcHeight: from.layout.rows,
            dstXInBytes: self.target.origin.x * self.size,
            dstY: self.target.origin.y,
            dstZ: self.target.origin.z,
            dstMemoryType: to.kind,
            dstHost: to.host,
            dstDevice: to.device,
            dstArray: to.array,
            dstPitch: to.layout.pitch,
            dstHeight: to.layout.rows,
            WidthInBytes: self.extent.width * self.size,
            Height: self.extent.height,
            Depth: self.extent.depth,
            ..CUDA_MEMCPY3D::default()
        }
    }

    fn peer(&self, stream: &CudaStream) -> CUDA_MEMCPY3D_PEER {
        let owner = |side: &Side<'_>| side.owner.context().unwrap_or(stream.context()).raw();
        let (source, target, copy) = (owner(self.source), owner(self.target), self.whole());
        CUDA_MEMCPY3D_PEER {
            srcXInBytes: copy.srcXInBytes,
            srcY: copy.srcY,
            srcZ: copy.srcZ,
            srcLOD: 0,
            srcMemoryType: copy.srcMemoryType,
            srcHost: copy.srcHost,
            srcDevice: copy.srcDevice,
            srcArray: copy.srcArray,
            srcContext: source,
            srcPitch: copy.srcPitch,
            srcHeight: copy.srcHeight,
            dstXInBytes: copy.dstXInBytes,
            dstY: copy.dstY,
            dstZ: copy.dstZ,
            dstLOD: 0,
            dstMemoryType: copy.dstMemoryType,
            dstHost: copy.dstHost,
            dstDevice: copy.dstDevice,
            dstArray: copy.dstArray,
            dstContext: target,
            dstPitch: copy.dstPitch,
            dstHeight: copy.dstHeight,
            WidthInBytes: copy.WidthInBytes,
            Height: copy.Height,
            Depth: copy.Depth,
        }
    }
}

/// A side as the driver's structures name it.
struct Raw {
    kind: CUmemorytype,
    host: *mut std::ffi::c_void,
    device: sys::CUdeviceptr,
    array: sys::CUarray,
    layout: RowLayout,
}

impl Raw {
    fn of(side: &Side<'_>) -> Self {
        let null = std::ptr::null_mut();
        let (kind, host, device, array) = match side.place {
            Place::Host(host) => (CUmemorytype::CU_MEMORYTYPE_HOST, host, 0, std::ptr::null_mut()),
            Place::Device(device) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, null, device, std::ptr::null_mut()),
            Place::Array(array) => (CUmemorytype::CU_MEMORYTYPE_ARRAY, null, 0, array),
        };
        Self { kind, host, device, array, layout: side.layout() }
    }
}
