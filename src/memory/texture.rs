//! Texture objects: how kernels read arrays and memory.

#![allow(unsafe_code)] // Calls of the driver with live handles; implementing `DeviceCopy` for a number.

use cuda_driver_sys::{
    self as sys, CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_res, CUDA_RESOURCE_DESC_res_array,
    CUDA_RESOURCE_DESC_res_linear, CUDA_RESOURCE_DESC_res_mipmap, CUDA_RESOURCE_DESC_res_pitch2D,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUresourcetype,
};
use std::any::Any;
use std::sync::Arc;

use super::array::{ArrayInner, CudaArray};
use super::array_format::ArrayElement;
use super::device_copy::DeviceCopy;
use super::home::Home;
use super::mipmap::{MipmapInner, MipmappedArray};
use super::pitched::PitchedBuffer;
use super::texture_descriptor::TextureDescriptor;
use super::view::DeviceSlice;
use crate::driver::{CudaContext, CudaStream, try_again};
use crate::error::Error;
use crate::ordering::Submission;

/// What a kernel takes for a texture: one 64-bit parameter, `cudaTextureObject_t`.
///
/// A number that says nothing of the texture's life, as a [`DevicePtr`](crate::DevicePtr) does of memory: keep the
/// [`TextureObject`] until the kernel is done. Dropping it waits for that.
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
/// It keeps what it is made of alive. Kernels take [`TextureObject::handle`]; a launch does not know what
/// the handle means, so that on another stream than the copy that filled the array [`TextureObject::read_on`] comes first.
/// Dropping it waits for all work of its context.
///
/// ```
/// use cuda_launch::{ArrayFlags, ArrayShape, CudaArray, CudaContext, TextureDescriptor, TextureObject};
/// let ctx = CudaContext::new(0)?;
/// let array = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 4 }, ArrayFlags::empty())?;
/// let texture = TextureObject::from_array(&array, &TextureDescriptor::default())?;
/// drop(array); // the texture keeps it
/// assert_ne!(texture.handle().raw(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "cuTexObjectCreate")]
pub struct TextureObject {
    raw: sys::CUtexObject,
    context: CudaContext,
    // Dropped after the object.
    of: Option<Kept>,
}

/// What a texture keeps alive.
enum Kept {
    Home(Arc<Home>),
    Array(Arc<ArrayInner>),
    Mipmap(Arc<MipmapInner>),
    Other { _owner: Box<dyn Any + Send + Sync> },
}

impl TextureObject {
    /// A texture of an array.
    ///
    /// Driver call: `cuTexObjectCreate`.
    ///
    /// # Errors
    /// Linear filtering of integers, or whatever the driver answers.
    pub fn from_array<T: ArrayElement>(
        array: &CudaArray<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        let owner = array.share();
        owner.escape();
        let resource = of_array(array.raw());
        // SAFETY: 1: the array is live; 2: `owner` keeps it.
        unsafe { Self::make(array.context(), &resource, &descriptor.raw(), None, Kept::Array(owner)) }
    }

    /// A texture of all levels of a mipmapped array; the descriptor's `mipmap_clamp` says which of them are read.
    ///
    /// Driver call: `cuTexObjectCreate`.
    ///
    /// # Errors
    /// Linear filtering of integers, or whatever the driver answers.
    pub fn from_mipmap<T: ArrayElement>(
        mipmap: &MipmappedArray<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        let owner = mipmap.share();
        owner.escape();
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
            res: CUDA_RESOURCE_DESC_res {
                mipmap: CUDA_RESOURCE_DESC_res_mipmap { hMipmappedArray: mipmap.raw() },
            },
            flags: 0,
        };
        // SAFETY: 1: the mipmapped array is live; 2: `owner` keeps it.
        unsafe { Self::make(mipmap.context(), &resource, &descriptor.raw(), None, Kept::Mipmap(owner)) }
    }

    /// A texture of device memory, in one dimension, read by index (`tex1Dfetch`).
    ///
    /// The memory stays allocated as long as the texture lives, also when its buffer is dropped. Address mode and filter
    /// mean nothing here. Driver call: `cuTexObjectCreate`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the memory does not start at a multiple of the device's texture alignment
    /// (512 bytes, as all buffers do) or has more elements than the device takes.
    pub fn from_linear<T: ArrayElement>(
        memory: &impl DeviceSlice<Element = T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        let parts = memory.parts();
        parts.home.escape();
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
        let (context, owner) = (parts.home.context(), parts.home.clone());
        // SAFETY: 1: the memory is live; 2: `owner` keeps it.
        unsafe { Self::make(context, &resource, &descriptor.raw(), None, Kept::Home(owner)) }
    }

    /// A texture of pitched rows, in two dimensions.
    ///
    /// The memory stays allocated as long as the texture lives, also when its buffer is dropped. Driver call:
    /// `cuTexObjectCreate`.
    ///
    /// # Errors
    /// Linear filtering of integers, or whatever the driver answers.
    pub fn from_pitched<T: ArrayElement>(
        rows: &PitchedBuffer<T>,
        descriptor: &TextureDescriptor,
    ) -> Result<Self, Error> {
        descriptor.fits::<T>()?;
        #[allow(non_snake_case, reason = "the driver's")]
        let pitch2D = CUDA_RESOURCE_DESC_res_pitch2D {
            devPtr: rows.cu_deviceptr(),
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
        let owner = Kept::Home(rows.share());
        // SAFETY: 1: the memory is live; 2: `owner` keeps it.
        unsafe { Self::make(rows.context(), &resource, &descriptor.raw(), None, owner) }
    }

    /// A texture by the driver's own structures, for what the other functions cannot say, such as a resource view.
    ///
    /// `owner` is kept until the texture is destroyed. Driver call: `cuTexObjectCreate`.
    ///
    /// # Safety
    /// 1. The resource is live and of `context`.
    /// 2. It stays so as long as `owner` lives.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub unsafe fn from_raw_parts(
        context: &CudaContext,
        resource: &CUDA_RESOURCE_DESC,
        descriptor: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
        owner: impl Any + Send + Sync,
    ) -> Result<Self, Error> {
        let of = Kept::Other { _owner: Box::new(owner) };
        // SAFETY: the caller's duties.
        unsafe { Self::make(context, resource, descriptor, view, of) }
    }

    /// # Safety
    /// 1. The resource is live and of `context`.
    /// 2. It stays so as long as `of` lives.
    unsafe fn make(
        context: &CudaContext,
        resource: &CUDA_RESOURCE_DESC,
        descriptor: &CUDA_TEXTURE_DESC,
        view: Option<&CUDA_RESOURCE_VIEW_DESC>,
        of: Kept,
    ) -> Result<Self, Error> {
        let (mut raw, view) = (0, view.map_or(std::ptr::null(), std::ptr::from_ref));
        let asked = || format!("{:?}, {descriptor:?}", resource.resType);
        // SAFETY: the caller's duty 1; all structures outlive the call.
        context.call("cuTexObjectCreate", asked, |driver| unsafe {
            driver.cuTexObjectCreate(&mut raw, resource, descriptor, view)
        })?;
        Ok(Self { raw, context: context.clone(), of: Some(of) })
    }

    /// Makes work given to `stream` from now on wait for the work that wrote what the texture reads, and later writers for
    /// what comes. Call it before the launch of a kernel that takes the handle.
    ///
    /// Driver calls: `cuEventRecord`, `cuStreamWaitEvent` if another stream wrote it; none for a texture from raw parts.
    ///
    /// # Errors
    /// The stream is of another context, or whatever the driver answers.
    pub fn read_on(&self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(&self.context, "the texture")?;
        let mut work = Submission::on(stream);
        match &self.of {
            Some(Kept::Home(home)) => work.reads(home),
            Some(Kept::Array(array)) => array.note(&mut work, false),
            Some(Kept::Mipmap(mipmap)) => work.reads(mipmap),
            Some(Kept::Other { .. }) | None => Ok(()),
        }
    }

    /// What a kernel takes.
    pub fn handle(&self) -> TextureHandle {
        TextureHandle(self.raw)
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// Destroys the texture now, after all work of its context, and says what the driver answered.
    ///
    /// Driver calls: `cuCtxSynchronize`, `cuTexObjectDestroy`.
    ///
    /// # Errors
    /// Whatever the driver answers; the texture is gone in any case.
    #[doc(alias = "cuTexObjectDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.destroy()
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if self.raw == 0 {
            return Ok(());
        }
        self.context.may_give_back("cuTexObjectDestroy")?;
        // Kernels that were given the handle may still run. Where this fails, the end of this value tries again.
        self.context.end_of_work()?;
        let raw = std::mem::take(&mut self.raw);
        // SAFETY: this value owned the object, and nothing uses it any more.
        self.context
            .give_back("cuTexObjectDestroy", String::new, |driver| unsafe { driver.cuTexObjectDestroy(raw) })
    }
}

impl Drop for TextureObject {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        if self.destroy().is_err() && self.raw != 0 {
            let (raw, of) = (std::mem::take(&mut self.raw), self.of.take());
            try_again(Self { raw, context: self.context.clone(), of });
        }
    }
}

impl std::fmt::Debug for TextureObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextureObject").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// The description of an array.
pub(super) fn of_array(array: sys::CUarray) -> CUDA_RESOURCE_DESC {
    CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
        flags: 0,
    }
}
