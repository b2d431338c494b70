//! Arrays: device memory in an opaque layout, read by kernels through textures and surfaces.

#![allow(unsafe_code)] // Calls of the driver with live handles: an array is destroyed only by `ArrayInner`.

use cuda_driver_sys::{self as sys, CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUresult};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::format::{ArrayDescriptor, ArrayElement};
use super::mipmap::MipmapInner;
use crate::driver::{CudaContext, CudaStream, Resource, StreamAccesses, end_or_try_again};
use crate::error::{Error, ErrorKind, LengthMismatch, TextureError, failed};
use crate::flags::flags;
use crate::memory::copy::layout::{Bounds, DeviceMemory, Extent, Owner, Place, RowLayout};
use crate::memory::copy::region::{CopySource, CopyTarget};
use crate::ordering::Submission;

flags! {
    /// What an array is for (`CUDA_ARRAY3D_*`). The shape's own flags, layered and cubemap, come from [`ArrayShape`].
    #[derive(Clone, Copy, PartialEq, Eq, Default)]
    pub struct ArrayFlags: u32 {
        /// The depth counts layers.
        const LAYERED = sys::CUDA_ARRAY3D_LAYERED;
        /// Kernels may write to it through a surface.
        const SURFACE = sys::CUDA_ARRAY3D_SURFACE_LDST;
        /// Six square faces, or layers of them.
        const CUBEMAP = sys::CUDA_ARRAY3D_CUBEMAP;
        /// Kernels can use texture gather on it; two dimensions only.
        const TEXTURE_GATHER = sys::CUDA_ARRAY3D_TEXTURE_GATHER;
        // Flags of newer drivers pass through; those of arrays whose memory is mapped later are refused (`may_be_made`).
        const _ = !0;
    }
}

/// The dimensions of an array, in elements.
///
/// ```
/// use cuda_launch::memory::Extent;
/// use cuda_launch::texture::ArrayShape;
/// assert_eq!(ArrayShape::D2 { width: 8, height: 4 }.extent(), Extent::rows(8, 4));
/// assert_eq!(ArrayShape::Cubemap { width: 8 }.extent(), Extent::planes(8, 8, 6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // width, height, depth in elements, layers as a count
#[non_exhaustive]
pub enum ArrayShape {
    /// One row.
    D1 { width: usize },
    /// The number of rows.
    D2 { width: usize, height: usize },
    /// Planes of rows.
    D3 { width: usize, height: usize, depth: usize },
    /// Layers of one row each.
    Layered1D { width: usize, layers: usize },
    /// Layers of rows.
    Layered2D { width: usize, height: usize, layers: usize },
    /// Six square faces, in the order +x, -x, +y, -y, +z, -z.
    Cubemap { width: usize },
    /// Layers of six square faces.
    LayeredCubemap { width: usize, layers: usize },
}

impl ArrayShape {
    /// Elements per row, rows, and planes, layers or faces; none is 0 unless the shape has no elements.
    pub const fn extent(self) -> Extent {
        match self {
            Self::D1 { width } => Extent::rows(width, 1),
            Self::D2 { width, height } => Extent::rows(width, height),
            Self::D3 { width, height, depth } => Extent::planes(width, height, depth),
            Self::Layered1D { width, layers } => Extent::planes(width, 1, layers),
            Self::Layered2D { width, height, layers } => Extent::planes(width, height, layers),
            Self::Cubemap { width } => Extent::planes(width, width, 6),
            Self::LayeredCubemap { width, layers } => Extent::planes(width, width, layers.saturating_mul(6)),
        }
    }

    /// As the driver's structure says it: dimensions that are not there are 0, and what they mean are flags.
    pub(in crate::memory) fn described(self) -> ([usize; 3], ArrayFlags) {
        let Extent { width, height, depth } = self.extent();
        match self {
            Self::D1 { .. } => ([width, 0, 0], ArrayFlags::empty()),
            Self::D2 { .. } => ([width, height, 0], ArrayFlags::empty()),
            Self::D3 { .. } => ([width, height, depth], ArrayFlags::empty()),
            Self::Layered1D { .. } => ([width, 0, depth], ArrayFlags::LAYERED),
            Self::Layered2D { .. } => ([width, height, depth], ArrayFlags::LAYERED),
            Self::Cubemap { .. } => ([width, height, depth], ArrayFlags::CUBEMAP),
            Self::LayeredCubemap { .. } => {
                ([width, height, depth], ArrayFlags::CUBEMAP.union(ArrayFlags::LAYERED))
            }
        }
    }
}

/// The descriptor of an array of `T`.
pub(in crate::memory) fn described<T: ArrayElement>(shape: ArrayShape, flags: ArrayFlags) -> ArrayDescriptor {
    let ([width, height, depth], own) = shape.described();
    ArrayDescriptor { width, height, depth, format: T::FORMAT, channels: T::CHANNELS, flags: own | flags }
}

/// An array of elements in device memory, in an opaque layout that only textures, surfaces and copies understand.
///
/// Handles are cheap to clone and share the array; it is destroyed with the last one, textures and surfaces included.
/// Destroying it waits for the streams that use it, and for all work in its context if the handle of a texture or surface of it was given
/// out, since a kernel may still use that.
///
/// ```
/// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let shape = ArrayShape::D2 { width: 3, height: 2 };
/// let array = CudaArray::<f32>::new(&ctx, shape, ArrayFlags::empty())?;
/// array.copy_from_host(&stream, &[1., 2., 3., 4., 5., 6.])?;
/// assert_eq!(array.to_host_vec(&stream)?, [1., 2., 3., 4., 5., 6.]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUarray")]
pub struct CudaArray<T: ArrayElement> {
    inner: Arc<ArrayInner>,
    of: PhantomData<T>,
}

impl<T: ArrayElement> Clone for CudaArray<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), of: PhantomData }
    }
}

#[derive(Debug)]
pub(in crate::memory) struct ArrayInner {
    /// Lives as long as this value: this value destroys it when dropped; or the mipmapped array that it is a level of does, which
    /// `level_of` keeps alive; or the caller of `from_raw` promised it, by duty 1 there.
    pub(in crate::memory) raw: CUarray,
    pub(in crate::memory) context: CudaContext,
    extent: Extent,
    flags: ArrayFlags,
    accesses: StreamAccesses,
    /// Whether the handle of one of its textures or surfaces was handed out: kernels may use it that are not recorded
    /// here.
    escaped: AtomicBool,
    /// Whether this crate made it as an array of its own.
    owned: bool,
    /// What a level belongs to; that notes the accesses of all levels.
    level_of: Option<Arc<MipmapInner>>,
}

// SAFETY: a CUarray may be used from every thread: of what a driver makes, its documents except graphs alone ("Graph
// object thread safety"). The rest is Send.
unsafe impl Send for ArrayInner {}
// SAFETY: as above; what is changed through a shared reference is atomic or behind a lock, and the rest is Sync.
unsafe impl Sync for ArrayInner {}

impl<T: ArrayElement> CudaArray<T> {
    /// Allocates an uninitialised array.
    ///
    /// Driver call: `cuArray3DCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::empty())?;
    /// assert_eq!(image.len(), 8);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or `CUDA_ERROR_INVALID_VALUE` for a shape that has no elements or that the device
    /// does not support.
    #[doc(alias = "cuArrayCreate")]
    #[doc(alias = "cuArray3DCreate")]
    pub fn new(context: &CudaContext, shape: ArrayShape, flags: ArrayFlags) -> Result<Self, Error> {
        let descriptor = described::<T>(shape, flags);
        let asked = || format!("{shape:?} of {} bytes each, {flags:?}", size_of::<T>());
        may_be_made(shape, flags, "cuArray3DCreate", asked)?;
        let inner = context.make(
            "cuArray3DCreate",
            asked,
            // SAFETY: `make` made the context current; the descriptor and the place outlive the call.
            |driver, raw| unsafe { driver.cuArray3DCreate(raw, &descriptor.raw()) },
            // SAFETY: 1: the array was just made, in this context, as described; 2: its number is in this function alone.
            |raw| unsafe { ArrayInner::new(raw, context, (shape.extent(), descriptor.flags), true, None) },
        )?;
        Ok(Self { inner: Arc::new(inner), of: PhantomData })
    }

    /// An array of `mipmap`, which destroys it.
    ///
    /// # Safety
    /// 1. `raw` is a level of `mipmap`, of this extent and made with these flags; its elements are `T`s.
    pub(in crate::memory) unsafe fn level(
        mipmap: &Arc<MipmapInner>,
        raw: CUarray,
        extent: Extent,
        flags: ArrayFlags,
    ) -> Self {
        let context = &mipmap.context;
        // SAFETY: 1: the caller's duty 1; a level is of the context of all levels; 2: it is not owned, and `mipmap` keeps it.
        let inner = unsafe { ArrayInner::new(raw, context, (extent, flags), false, Some(mipmap.clone())) };
        Self { inner: Arc::new(inner), of: PhantomData }
    }

    /// Borrows an array that other code created and will destroy.
    ///
    /// Driver call: `cuArray3DGetDescriptor`.
    ///
    /// # Safety
    /// 1. `raw` is a live array of `context`'s context and outlives every clone of the result, all work on it, and graphs that use it.
    /// 2. Its elements are `T`s.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUarray) -> Result<Self, Error> {
        // SAFETY: 1: the caller's duty 1.
        let descriptor = unsafe { describe(context, raw) }?;
        let extent = Extent::planes(descriptor.width, descriptor.height.max(1), descriptor.depth.max(1));
        // SAFETY: 1: the caller's duty 1; the driver has just told the extent and the flags; 2: it is not owned, and outlives all by the
        // caller's duty 1.
        let inner = unsafe { ArrayInner::new(raw, context, (extent, descriptor.flags), false, None) };
        Ok(Self { inner: Arc::new(inner), of: PhantomData })
    }

    /// What the driver reports about the array.
    ///
    /// Driver call: `cuArray3DGetDescriptor`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::empty())?;
    /// println!("{:?}", image.descriptor()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuArray3DGetDescriptor")]
    pub fn descriptor(&self) -> Result<ArrayDescriptor, Error> {
        // SAFETY: 1: the array is of this context, and lives as long as this handle (`ArrayInner::raw`).
        unsafe { describe(&self.inner.context, self.inner.raw) }
    }

    /// Copies `source`, row by row without gaps, over all elements; returns when the copy is complete.
    ///
    /// Takes `&self`, because textures and surfaces share the array: on the host, only copies can access its elements.
    ///
    /// Driver calls: `cuMemcpy2DAsync` or `cuMemcpy3DAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let row = CudaArray::<f32>::new(&ctx, ArrayShape::D1 { width: 4 }, ArrayFlags::empty())?;
    /// row.copy_from_host(&stream, &[1.0, 2.0, 3.0, 4.0])?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyHtoA")]
    pub fn copy_from_host(&self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
        same_len("copy_from_host", source.len(), self.len())?;
        stream.copy_region(&CopySource::host(source, self.packed()), &mut self.as_target(), self.extent())
    }

    /// Copies all elements, row by row without gaps, to `target`; returns when the copy is complete.
    ///
    /// Driver calls: `cuMemcpy2DAsync` or `cuMemcpy3DAsync`, `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let row = CudaArray::<u32>::new(&ctx, ArrayShape::D1 { width: 2 }, ArrayFlags::empty())?;
    /// row.copy_from_host(&stream, &[1, 2])?;
    /// let mut host = [0; 2];
    /// row.copy_to_host(&stream, &mut host)?;
    /// assert_eq!(host, [1, 2]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
    #[doc(alias = "cuMemcpyAtoH")]
    pub fn copy_to_host(&self, stream: &CudaStream, target: &mut [T]) -> Result<(), Error> {
        same_len("copy_to_host", self.len(), target.len())?;
        let layout = self.packed();
        stream.copy_region(&self.as_source(), &mut CopyTarget::host(target, layout), self.extent())
    }

    /// All elements, row by row without gaps. Calls and errors are those of [`CudaArray::copy_to_host`].
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let row = CudaArray::<u32>::new(&ctx, ArrayShape::D1 { width: 2 }, ArrayFlags::empty())?;
    /// row.copy_from_host(&stream, &[1, 2])?;
    /// assert_eq!(row.to_host_vec(&stream)?, [1, 2]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
        // SAFETY: every bit pattern is a `T` (`DeviceCopy` 1), and that includes all zeros.
        let mut host = vec![unsafe { std::mem::zeroed() }; self.len()];
        self.copy_to_host(stream, &mut host)?;
        Ok(host)
    }

    /// What [`CudaStream::copy_region`] reads.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{CopyTarget, Extent, RowLayout};
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 2, height: 2 }, ArrayFlags::empty())?;
    /// image.copy_from_host(&stream, &[5.0; 4])?;
    /// let mut rows = CopyTarget::device(&mut x, RowLayout::packed::<f32>(2, 2));
    /// stream.copy_region(&image.as_source(), &mut rows, Extent::rows(2, 2))?;
    /// assert_eq!(x.to_host_vec(&stream)?, [5.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn as_source(&self) -> CopySource<'_, T> {
        let bounds = Bounds::Array(self.inner.extent);
        CopySource::new(Place::Array(self.inner.raw), bounds, Owner::Device(&self.inner))
    }

    /// What [`CudaStream::copy_region`] writes.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::memory::{CopySource, Extent, RowLayout};
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 2, height: 2 }, ArrayFlags::empty())?;
    /// let rows = CopySource::device(&x, RowLayout::packed::<f32>(2, 2));
    /// stream.copy_region(&rows, &mut image.as_target(), Extent::rows(2, 2))?;
    /// assert_eq!(image.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn as_target(&self) -> CopyTarget<'_, T> {
        let bounds = Bounds::Array(self.inner.extent);
        CopyTarget::new(Place::Array(self.inner.raw), bounds, Owner::Device(&self.inner))
    }

    fn packed(&self) -> RowLayout {
        RowLayout::packed::<T>(self.inner.extent.width, self.inner.extent.height)
    }

    /// Elements per row, rows, and planes, layers or faces.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::Extent;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::empty())?;
    /// assert_eq!(image.extent(), Extent::rows(4, 2));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn extent(&self) -> Extent {
        self.inner.extent
    }

    /// The total number of elements.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
    /// # let ctx = CudaContext::new(0)?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::empty())?;
    /// assert_eq!(image.len(), 8);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        // The driver allocated them: they can be counted.
        self.inner.extent.elements().unwrap_or(usize::MAX)
    }

    /// Whether there are no elements; false for every array.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The raw array, valid as long as a handle to it lives.
    pub fn raw(&self) -> CUarray {
        self.inner.raw
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    pub(in crate::memory) fn share(&self) -> Arc<ArrayInner> {
        self.inner.clone()
    }

    /// Destroys the array now if this is the last handle to it, and reports any error.
    ///
    /// Driver calls: `cuStreamSynchronize` or `cuCtxSynchronize`, and `cuArrayDestroy`, for the last handle of an array that this crate made.
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuArrayDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }
}

impl DeviceMemory for Arc<ArrayInner> {
    fn context(&self) -> &CudaContext {
        &self.context
    }

    /// A level counts as its whole mipmapped array.
    fn note(&self, work: &mut Submission<'_>, written: bool) -> Result<(), Error> {
        match &self.level_of {
            Some(mipmap) => work.accesses(mipmap.accesses(), written, || mipmap.clone()),
            None => work.accesses(&self.accesses, written, || self.clone()),
        }
    }
}

impl ArrayInner {
    /// What all handles of an array share, which destroys it if it is `owned`.
    ///
    /// # Safety
    /// 1. `raw` is a live array of `context`, of this extent and made with these flags.
    /// 2. If it is `owned`, nothing else destroys it. Otherwise it outlives the result, all work that is noted there, and graphs that have
    ///    a share in that, or lives as long as `level_of`.
    unsafe fn new(
        raw: CUarray,
        context: &CudaContext,
        (extent, flags): (Extent, ArrayFlags),
        owned: bool,
        level_of: Option<Arc<MipmapInner>>,
    ) -> Self {
        let (accesses, escaped) = (StreamAccesses::new(context.owner()), AtomicBool::new(false));
        Self { raw, context: context.clone(), extent, flags, accesses, escaped, owned, level_of }
    }

    /// What notes its uses.
    pub(in crate::memory) fn resource(self: &Arc<Self>) -> Arc<dyn Resource> {
        match &self.level_of {
            Some(mipmap) => mipmap.clone(),
            None => self.clone(),
        }
    }

    /// Whether it was made for surfaces.
    pub(in crate::memory) fn is_surface(&self) -> bool {
        self.flags.contains(ArrayFlags::SURFACE)
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if !self.owned {
            return Ok(());
        }
        self.context.may_give_back("cuArrayDestroy")?;
        // The driver does not guarantee that destroying waits. If this fails, dropping this value tries again.
        self.accesses.end(&self.context, *self.escaped.get_mut())?;
        self.owned = false;
        // SAFETY: this crate made the array, destroys it once, no handle and no graph with a share is left, and `end` has waited for the
        // work that uses it.
        self.context
            .give_back("cuArrayDestroy", String::new, |driver| unsafe { driver.cuArrayDestroy(self.raw) })
    }

    /// What is to be destroyed, as a value of its own; nothing is left here.
    fn take(&mut self) -> Self {
        Self {
            raw: self.raw,
            context: self.context.clone(),
            extent: self.extent,
            flags: self.flags,
            accesses: self.accesses.take(),
            escaped: std::mem::take(&mut self.escaped),
            owned: std::mem::take(&mut self.owned),
            level_of: self.level_of.take(),
        }
    }
}

impl Resource for ArrayInner {
    fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    fn escape(&self) {
        self.escaped.store(true, Ordering::Relaxed);
    }
}

impl Drop for ArrayInner {
    fn drop(&mut self) {
        end_or_try_again(self, Self::destroy, |array| array.owned.then(|| array.take()));
    }
}

/// What the driver says of an array.
///
/// # Safety
/// 1. `raw` is a live array of `context`.
pub(in crate::memory) unsafe fn describe(
    context: &CudaContext,
    raw: CUarray,
) -> Result<ArrayDescriptor, Error> {
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    // SAFETY: the array is live and of this context, by the caller's duty 1; the descriptor is a local, which outlives the call.
    context.call("cuArray3DGetDescriptor", String::new, |driver| unsafe {
        driver.cuArray3DGetDescriptor(&mut descriptor, raw)
    })?;
    Ok(ArrayDescriptor::from_raw(&descriptor))
}

/// An error for no elements, or more than any device has, because drivers take some zeros for dimensions that are not there, and make another
/// array than was asked for; and for flags with which the elements have no memory yet.
pub(in crate::memory) fn may_be_made(
    shape: ArrayShape,
    flags: ArrayFlags,
    call: &'static str,
    asked: impl FnOnce() -> String,
) -> Result<(), Error> {
    let later = sys::CUDA_ARRAY3D_SPARSE | sys::CUDA_ARRAY3D_DEFERRED_MAPPING;
    if flags.bits() & later != 0 {
        return Err(ErrorKind::Texture(TextureError::MappedLater { flags: flags.bits() }).into());
    }
    let Extent { width, height, depth } = shape.extent();
    // Driver 580 takes 2^32 planes for none.
    let most = u32::MAX as usize;
    if [width, height, depth].iter().all(|number| (1..=most).contains(number)) {
        return Ok(());
    }
    let code = CUresult::CUDA_ERROR_INVALID_VALUE;
    Err(failed(code, call, asked())
        .with_hint_for(code, "each number of the shape is at least 1 and fits in 32 bits"))
}

fn same_len(call: &'static str, source_len: usize, destination_len: usize) -> Result<(), Error> {
    if source_len == destination_len {
        return Ok(());
    }
    Err(ErrorKind::Length(LengthMismatch { call, source_len, destination_len }).into())
}
