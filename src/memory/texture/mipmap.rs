//! Mipmapped arrays.

#![allow(unsafe_code)] // Calls of the driver with live handles: destroyed only by `MipmapInner`.

use cuda_driver_sys::{CUarray, CUmipmappedArray};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::array::{ArrayFlags, ArrayShape, CudaArray, described, may_be_made};
use super::format::ArrayElement;
use crate::driver::{CudaContext, Resource, StreamAccesses, end_or_try_again};
use crate::error::Error;
use crate::memory::copy::layout::Extent;

/// Arrays of decreasing size for one image, read by kernels through one texture.
///
/// Handles are cheap to clone and share the levels; they are destroyed with the last one, textures and levels included,
/// which waits like the destruction of an array.
///
/// ```
/// use cuda_launch::memory::Extent;
/// use cuda_launch::texture::{ArrayFlags, ArrayShape, MipmappedArray};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let shape = ArrayShape::D2 { width: 16, height: 8 };
/// let mipmap = MipmappedArray::<u8>::new(&ctx, shape, ArrayFlags::empty(), 3)?;
/// assert_eq!(mipmap.level(2)?.extent(), Extent::rows(4, 2));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUmipmappedArray")]
pub struct MipmappedArray<T: ArrayElement> {
    inner: Arc<MipmapInner>,
    of: PhantomData<T>,
}

impl<T: ArrayElement> Clone for MipmappedArray<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), of: PhantomData }
    }
}

#[derive(Debug)]
pub(in crate::memory) struct MipmapInner {
    /// Lives as long as this, which destroys it at its own end.
    pub(in crate::memory) raw: CUmipmappedArray,
    pub(in crate::memory) context: CudaContext,
    levels: u32,
    /// Of all levels.
    accesses: StreamAccesses,
    /// Whether the handle of a texture or surface of it or of one of its levels was handed out: kernels may use it that
    /// are not recorded here.
    escaped: AtomicBool,
    owned: bool,
}

// SAFETY: a CUmipmappedArray may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). The rest is Send.
unsafe impl Send for MipmapInner {}
// SAFETY: as above; what is changed through a shared reference is atomic or behind a lock, and the rest is Sync.
unsafe impl Sync for MipmapInner {}

impl<T: ArrayElement> MipmappedArray<T> {
    /// Allocates `levels` arrays: the first of `shape`, each following one half as large as the one before it.
    ///
    /// The number of levels is capped at the number of times that the sizes can be halved. Driver call:
    /// `cuMipmappedArrayCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, MipmappedArray};
    /// # let ctx = CudaContext::new(0)?;
    /// let pyramid = MipmappedArray::<f32>::new(&ctx, ArrayShape::D2 { width: 8, height: 8 }, ArrayFlags::empty(), 3)?;
    /// assert_eq!(pyramid.levels(), 3);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_memory`], or `CUDA_ERROR_INVALID_VALUE` for a shape that the device does not support.
    #[doc(alias = "cuMipmappedArrayCreate")]
    pub fn new(
        context: &CudaContext,
        shape: ArrayShape,
        flags: ArrayFlags,
        levels: u32,
    ) -> Result<Self, Error> {
        let descriptor = described::<T>(shape, flags);
        let asked = || format!("{levels} levels from {shape:?} on, {flags:?}");
        may_be_made(shape, flags, "cuMipmappedArrayCreate", asked)?;
        let inner = context.make(
            "cuMipmappedArrayCreate",
            asked,
            // SAFETY: `make` made the context current; the descriptor and the place outlive the call.
            |driver, raw| unsafe { driver.cuMipmappedArrayCreate(raw, &descriptor.raw(), levels) },
            |raw| MipmapInner {
                raw,
                context: context.clone(),
                levels: levels.clamp(1, most_levels(shape)),
                accesses: StreamAccesses::new(context.owner()),
                escaped: AtomicBool::new(false),
                owned: true,
            },
        )?;
        Ok(Self { inner: Arc::new(inner), of: PhantomData })
    }

    /// The array of a level; 0 is the largest. It keeps all levels alive.
    ///
    /// Driver calls: `cuMipmappedArrayGetLevel`, `cuArray3DGetDescriptor`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::Extent;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, MipmappedArray};
    /// # let ctx = CudaContext::new(0)?;
    /// let pyramid = MipmappedArray::<f32>::new(&ctx, ArrayShape::D2 { width: 8, height: 8 }, ArrayFlags::empty(), 3)?;
    /// assert_eq!(pyramid.level(2)?.extent(), Extent::rows(2, 2));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the level does not exist.
    #[doc(alias = "cuMipmappedArrayGetLevel")]
    pub fn level(&self, level: u32) -> Result<CudaArray<T>, Error> {
        let mut raw: CUarray = std::ptr::null_mut();
        let asked = || format!("level {level} of {}", self.inner.levels);
        // SAFETY: the mipmapped array lives as long as this handle (`MipmapInner::raw`); `raw`, a local, outlives the call.
        self.inner.context.call("cuMipmappedArrayGetLevel", asked, |driver| unsafe {
            driver.cuMipmappedArrayGetLevel(&mut raw, self.inner.raw, level)
        })?;
        // SAFETY: 1: the driver has just named the array, which lives as long as the mipmapped one does (`MipmapInner::raw`).
        let descriptor = unsafe { super::array::describe(&self.inner.context, raw) }?;
        let extent = Extent::planes(descriptor.width, descriptor.height.max(1), descriptor.depth.max(1));
        // SAFETY: 1: the driver named `raw` as a level of this, which has `T`s, and described it.
        Ok(unsafe { CudaArray::level(&self.inner, raw, extent, descriptor.flags) })
    }

    /// The number of levels.
    pub fn levels(&self) -> u32 {
        self.inner.levels
    }

    /// The raw mipmapped array, valid as long as a handle to it lives.
    pub fn raw(&self) -> CUmipmappedArray {
        self.inner.raw
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    pub(in crate::memory) fn share(&self) -> Arc<MipmapInner> {
        self.inner.clone()
    }

    /// Destroys all levels now if this is the last handle, and reports any error.
    ///
    /// Driver calls: `cuStreamSynchronize` or `cuCtxSynchronize`, and `cuMipmappedArrayDestroy`, for the last handle.
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuMipmappedArrayDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }
}

/// As many levels as the sizes can be halved, and one; layers and faces are not halved.
fn most_levels(shape: ArrayShape) -> u32 {
    let Extent { width, height, depth } = shape.extent();
    let depth = if matches!(shape, ArrayShape::D3 { .. }) { depth } else { 1 };
    width.max(height).max(depth).checked_ilog2().unwrap_or(0) + 1
}

impl MipmapInner {
    fn destroy(&mut self) -> Result<(), Error> {
        if !self.owned {
            return Ok(());
        }
        self.context.may_give_back("cuMipmappedArrayDestroy")?;
        // The driver does not guarantee that destroying waits. If this fails, dropping this value tries again.
        self.accesses.end(&self.context, *self.escaped.get_mut())?;
        self.owned = false;
        // SAFETY: this value owned it, and destroys it once; no handle, level and no graph with a share is left, and `end` has waited for
        // the work that uses it.
        self.context.give_back("cuMipmappedArrayDestroy", String::new, |driver| unsafe {
            driver.cuMipmappedArrayDestroy(self.raw)
        })
    }

    /// What is to be destroyed, as a value of its own; nothing is left here.
    fn take(&mut self) -> Self {
        Self {
            raw: self.raw,
            levels: self.levels,
            context: self.context.clone(),
            accesses: self.accesses.take(),
            escaped: std::mem::take(&mut self.escaped),
            owned: std::mem::take(&mut self.owned),
        }
    }
}

impl Resource for MipmapInner {
    fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    fn escape(&self) {
        self.escaped.store(true, Ordering::Relaxed);
    }
}

impl Drop for MipmapInner {
    fn drop(&mut self) {
        end_or_try_again(self, Self::destroy, |mipmap| mipmap.owned.then(|| mipmap.take()));
    }
}
