//! Texture objects, with which kernels read arrays and memory.

#![allow(unsafe_code)] // Calls of the driver with live handles; implementing `DeviceCopy` for a number.

use cuda_driver_sys::{
    self as sys, CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_res, CUDA_RESOURCE_DESC_res_array,
    CUDA_RESOURCE_DESC_res_linear, CUDA_RESOURCE_DESC_res_mipmap, CUDA_RESOURCE_DESC_res_pitch2D,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUresourcetype,
};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::array::CudaArray;
use super::descriptor::TextureDescriptor;
use super::format::ArrayElement;
use super::mipmap::MipmappedArray;
use crate::driver::{CudaContext, CudaStream, Keep, end_or_try_again};
use crate::error::Error;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::DeviceSlice;
use crate::memory::object::{KernelObject, ObjectParts, Shared, Used, sealed::Sealed};
use crate::memory::pitched::PitchedBuffer;
use crate::memory::pointer::attributes::{MemoryType, PointerAttributes};
use crate::ordering::Submission;

/// The kernel argument for a texture: one 64-bit parameter, `cudaTextureObject_t`.
///
/// A number that does not keep the texture alive, as a [`DevicePtr`](crate::DevicePtr) does not keep memory alive: keep
/// the [`TextureObject`] until the kernel is done. Dropping it waits for that.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "CUtexObject")]
pub struct TextureHandle(sys::CUtexObject);

// SAFETY: 1, 2: a transparent u64; 3: no address of the host.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for TextureHandle {}

impl TextureHandle {
    /// The raw object.
    pub const fn raw(self) -> sys::CUtexObject {
        self.0
    }
}

/// An array or linear memory that kernels read with filtering, bounds and normalized coordinates.
///
/// It keeps its memory alive. Kernels of typed modules take `&TextureObject`, and their launches order it and keep it
/// alive like buffers. Other launches take [`TextureObject::handle`] and do not know what the handle refers to, so call
/// [`TextureObject::read_on`] first when launching on another stream than the copy that filled the array.
///
/// Dropping it waits for the streams that use its memory, or for all work in its context if its handle was given out or it was made from raw
/// parts.
///
/// ```
/// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, TextureDescriptor, TextureObject};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let array = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 4 }, ArrayFlags::empty())?;
/// let texture = TextureObject::from_array(&array, &TextureDescriptor::default())?;
/// drop(array); // the texture keeps it
/// assert_ne!(texture.handle().raw(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "cuTexObjectCreate")]
pub struct TextureObject {
    inner: Arc<TextureInner>,
}

/// The object of the driver, and what it reads.
struct TextureInner {
    handle: TextureHandle,
    used: Arc<Used>,
    // Dropped after the object.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

impl TextureObject {
    /// A texture of an array.
    ///
    /// Driver call: `cuTexObjectCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, TextureDescriptor, TextureObject};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::empty())?;
    /// image.copy_from_host(&stream, &[1.0; 8])?;
    /// let texture = TextureObject::from_array(&image, &TextureDescriptor::default())?;
    /// println!("{:?}", texture.handle());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Linear filtering of integers, or any error returned by the driver.
    pub fn from_array<T: ArrayElement>(
        array: &CudaArray<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        let owner = array.share();
        let used = Used::array(owner.resource(), array.context(), Some(array.raw().addr()));
        // SAFETY: 1: the array lives as long as its handle (`ArrayInner::raw`), which is borrowed, is of its context,
        // and is what `of_array` says; `raw` is numbers, which the driver checks; 2: `owner` has a share of it.
        unsafe { Self::make(&of_array(array.raw()), &descriptor.raw(), None, used, Some(Box::new(owner))) }
    }

    /// A texture of all levels of a mipmapped array; the descriptor's `mipmap_clamp` limits which of them are read.
    ///
    /// Driver call: `cuTexObjectCreate`.
    ///
    /// # Errors
    /// Linear filtering of integers, or any error returned by the driver.
    pub fn from_mipmap<T: ArrayElement>(
        mipmap: &MipmappedArray<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        let owner = mipmap.share();
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
            res: CUDA_RESOURCE_DESC_res {
                mipmap: CUDA_RESOURCE_DESC_res_mipmap { hMipmappedArray: mipmap.raw() },
            },
            flags: 0,
        };
        let used = Used::array(owner, mipmap.context(), None);
        // SAFETY: 1: the mipmapped array lives as long as its handle (`MipmapInner::raw`), which is borrowed, is of its
        // context, and is what the description says; `raw` is numbers, which the driver checks; 2: `used` has a share
        // of it.
        unsafe { Self::make(&resource, &descriptor.raw(), None, used, None) }
    }

    /// A texture of device memory, in one dimension, read by index (`tex1Dfetch`).
    ///
    /// The memory stays allocated as long as the texture lives, even when its buffer is dropped. Address mode and
    /// filter are ignored. Driver calls: `cuPointerGetAttributes`, `cuTexObjectCreate`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::texture::{TextureDescriptor, TextureObject};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let texture = TextureObject::from_linear(&x, &TextureDescriptor::default())?;
    /// println!("{:?}", texture.handle());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the memory is not aligned to the device's texture alignment (512 bytes, which all
    /// buffers are) or has more elements than the device supports.
    pub fn from_linear<T: ArrayElement>(
        memory: &impl DeviceSlice<Element = T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        let parts = memory.parts();
        let linear = CUDA_RESOURCE_DESC_res_linear {
            devPtr: *parts.address,
            format: T::FORMAT.raw(),
            numChannels: T::CHANNELS,
            sizeInBytes: *parts.len * size_of::<T>(),
        };
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_LINEAR,
            res: CUDA_RESOURCE_DESC_res { linear },
            flags: 0,
        };
        let (context, addresses) =
            (parts.allocation.context(), addresses(*parts.address, *parts.len * size_of::<T>()));
        let known = PointerAttributes::of(context, *parts.address)?;
        let of_device =
            |known: PointerAttributes| known.memory_type == MemoryType::Device && !known.is_managed;
        let used = Used::memory(parts.allocation.clone(), context, addresses);
        let used = used.seen_by_host(!known.is_some_and(of_device));
        // SAFETY: 1: the memory is allocated as long as its buffer, which is borrowed, is of its context, and has so
        // many elements of this format there; `raw` is numbers, which the driver checks; 2: `used` has a share of its
        // allocation.
        unsafe { Self::make(&resource, &descriptor.raw(), None, used, None) }
    }

    /// A texture of pitched rows, in two dimensions.
    ///
    /// The memory stays allocated as long as the texture lives, even when its buffer is dropped. Driver call:
    /// `cuTexObjectCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::memory::PitchedBuffer;
    /// use cuda_launch::texture::{TextureDescriptor, TextureObject};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut image = PitchedBuffer::<f32>::uninit(&stream, 4, 2)?;
    /// image.fill(&stream, 1.0)?;
    /// let texture = TextureObject::from_pitched(&image, &TextureDescriptor::default())?;
    /// texture.read_on(&stream)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Linear filtering of integers, or any error returned by the driver.
    pub fn from_pitched<T: ArrayElement>(
        rows: &PitchedBuffer<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        let addresses = rows.reach();
        #[allow(non_snake_case, reason = "the driver's")]
        let pitch2D = CUDA_RESOURCE_DESC_res_pitch2D {
            devPtr: addresses.start,
            format: T::FORMAT.raw(),
            numChannels: T::CHANNELS,
            width: rows.width(),
            height: rows.height(),
            pitchInBytes: rows.pitch(),
        };
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_PITCH2D,
            res: CUDA_RESOURCE_DESC_res { pitch2D },
            flags: 0,
        };
        let used = Used::memory(rows.share(), rows.context(), addresses);
        // SAFETY: 1: the memory is allocated as long as its buffer, which is borrowed, is of its context, and has such
        // rows of this format there; `raw` is numbers, which the driver checks; 2: `used` has a share of its
        // allocation.
        unsafe { Self::make(&resource, &descriptor.raw(), None, used, None) }
    }

    /// A texture from the driver's own structures, for what the other functions cannot express, such as a resource
    /// view.
    ///
    /// `owner` is kept alive until the texture is destroyed. Driver call: `cuTexObjectCreate`.
    ///
    /// # Safety
    /// 1. The resource is live and of `context`; its description, and those of texture and view, are as the driver's
    ///    documentation requires, with all bytes initialised.
    /// 2. It stays so as long as `owner` lives.
    /// 3. Reads of kernels through the texture are not tracked: code that writes the resource, or has a mutable reference
    ///    to it, waits for the launches that were given the texture, and those wait for the writes.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub unsafe fn from_raw_parts(
        context: &CudaContext,
        resource: &CUDA_RESOURCE_DESC,
        descriptor: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
        owner: impl Any + Send + Sync,
    ) -> Result<Self, Error> {
        let used = Used::unknown(context);
        // SAFETY: 1, 2: the caller's duties 1 and 2; `used` names `context`.
        unsafe { Self::make(resource, descriptor, view, used, Some(Box::new(owner))) }
    }

    /// # Safety
    /// 1. The resource is live, of the context that `used` names, and as its description says; what the descriptions of
    ///    texture and view say, all bytes initialised, the driver takes or refuses.
    /// 2. It stays so as long as `used` and `owner` live.
    unsafe fn make(
        resource: &CUDA_RESOURCE_DESC,
        descriptor: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
        used: Used,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self, Error> {
        let (used, view) = (Arc::new(used), view.map_or(std::ptr::null(), std::ptr::from_ref));
        let inner = used.context().make(
            "cuTexObjectCreate",
            || format!("{:?}, {descriptor:?}", resource.resType),
            // SAFETY: the resource is live and as its description says, and the other descriptions may be given to the
            // driver, by the caller's duty 1; the structures are borrowed, or null for no view: they and the place
            // outlive the call, which copies them.
            |driver, raw| unsafe { driver.cuTexObjectCreate(raw, resource, descriptor, view) },
            |raw| TextureInner { handle: TextureHandle(raw), used: used.clone(), owner },
        )?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes work submitted to `stream` from now on wait for the work that wrote what the texture reads, and later
    /// writers wait for what comes next. Call it before the launch of a kernel that takes the handle.
    ///
    /// Driver calls: `cuEventRecord`, `cuStreamWaitEvent` if another stream wrote it; none for a texture from raw parts.
    ///
    /// # Errors
    /// The stream belongs to another context, or any error returned by the driver.
    pub fn read_on(&self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(self.context(), "the texture")?;
        self.inner.used.note(&mut Submission::on(stream), false)
    }

    /// The kernel argument. After this call, the end of the texture waits for all work in its context, and so does that of its memory.
    pub fn handle(&self) -> TextureHandle {
        self.inner.used.escape();
        self.inner.handle
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::texture::{TextureDescriptor, TextureObject};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let texture = TextureObject::from_linear(&x, &TextureDescriptor::default())?;
    /// assert_eq!(texture.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        self.inner.used.context()
    }

    /// Destroys the texture now, after the work that may use it, and reports any error. If a graph contains a launch
    /// that was given the texture, it shares ownership, and the texture is destroyed with the graph.
    ///
    /// Driver calls: `cuStreamSynchronize` or `cuCtxSynchronize`, and `cuTexObjectDestroy`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// use cuda_launch::texture::{TextureDescriptor, TextureObject};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// TextureObject::from_linear(&x, &TextureDescriptor::default())?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; this handle is released in any case.
    #[doc(alias = "cuTexObjectDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }
}

impl Sealed for TextureObject {}

#[diagnostic::do_not_recommend]
impl KernelObject for TextureObject {
    type Handle = TextureHandle;

    #[inline]
    fn parts(&self) -> ObjectParts<'_, TextureHandle> {
        ObjectParts { handle: &self.inner.handle, of: self }
    }
}

impl Shared for TextureObject {
    fn used(&self) -> &Used {
        &self.inner.used
    }

    fn share(&self) -> Option<Keep> {
        Some(self.inner.clone())
    }
}

impl TextureInner {
    fn destroy(&mut self) -> Result<(), Error> {
        let raw = self.handle.0;
        if raw == 0 {
            return Ok(());
        }
        let context = self.used.context();
        context.may_give_back("cuTexObjectDestroy")?;
        // Kernels that received the handle may still be running. If this fails, dropping this value tries again.
        self.used.end()?;
        self.handle = TextureHandle(0);
        // SAFETY: this value owned the object, and destroys it once, as 0 stands here after; no graph has a share: it would keep this
        // value; and `end` has waited for the work that uses it: each launch that is given the object notes that it uses what is behind
        // it, and where the handle was given out, or nothing is known to be behind it, `end` waits for all work.
        context
            .give_back("cuTexObjectDestroy", String::new, |driver| unsafe { driver.cuTexObjectDestroy(raw) })
    }
}

impl Drop for TextureInner {
    fn drop(&mut self) {
        end_or_try_again(self, Self::destroy, |texture| {
            let handle = std::mem::replace(&mut texture.handle, TextureHandle(0));
            let rest = || Self { handle, used: texture.used.clone(), owner: texture.owner.take() };
            (handle.0 != 0).then(rest)
        });
    }
}

impl std::fmt::Debug for TextureObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextureObject").field("raw", &self.inner.handle.0).finish_non_exhaustive()
    }
}

/// So many bytes from there on. They are allocated: the sum is an address.
fn addresses(start: u64, bytes: usize) -> Range<u64> {
    start..start.saturating_add(bytes as u64)
}

/// The description of an array.
pub(in crate::memory) fn of_array(array: sys::CUarray) -> CUDA_RESOURCE_DESC {
    CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
        flags: 0,
    }
}
