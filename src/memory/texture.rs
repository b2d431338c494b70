//! Texture and surface objects: how kernels read and write arrays.

#![allow(unsafe_code)] // Calls of the driver with live handles; implementing `DeviceCopy` for numbers.

use bitflags::bitflags;
use cuda_driver_sys::{
    self as sys, CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC_res, CUDA_RESOURCE_DESC_res_array,
    CUDA_RESOURCE_DESC_res_linear, CUDA_RESOURCE_DESC_res_mipmap, CUDA_RESOURCE_DESC_res_pitch2D,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode, CUresourcetype,
};
use std::any::Any;
use std::sync::Arc;

use super::array::CudaArray;
use super::array_format::ArrayElement;
use super::device_copy::DeviceCopy;
use super::mipmap::MipmappedArray;
use super::pitched::PitchedBuffer;
use super::view::DeviceSlice;
use crate::driver::CudaContext;
use crate::error::{Error, ErrorKind, TextureError};

/// What a texture reads at coordinates outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUaddress_mode")]
pub enum AddressMode {
    /// As if it were repeated. Normalized coordinates only, else as `Clamp`.
    Wrap,
    /// The nearest element.
    #[default]
    Clamp,
    /// As if it were repeated, every other time mirrored. Normalized coordinates only, else as `Clamp`.
    Mirror,
    /// The border colour.
    Border,
}

impl AddressMode {
    fn raw(self) -> CUaddress_mode {
        match self {
            Self::Wrap => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            Self::Clamp => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            Self::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            Self::Border => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }
    }
}

/// What a texture reads between elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUfilter_mode")]
pub enum FilterMode {
    /// The element whose square the coordinates lie in.
    #[default]
    Point,
    /// A mean of the elements around, weighted by distance with 8 bits of fraction. Floats only.
    Linear,
}

impl FilterMode {
    fn raw(self) -> CUfilter_mode {
        match self {
            Self::Point => CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Self::Linear => CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        }
    }
}

bitflags! {
    /// How a texture is read (`CU_TRSF_*`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TextureFlags: u32 {
        /// Integers of 8 and 16 bits are read as they are, not as fractions of their largest value. Those of 32 bits
        /// always are.
        const READ_AS_INTEGER = sys::CU_TRSF_READ_AS_INTEGER;
        /// Coordinates go from 0 to 1, not from 0 to the number of elements.
        const NORMALIZED_COORDINATES = sys::CU_TRSF_NORMALIZED_COORDINATES;
        /// Elements are sRGB and read as linear values.
        const SRGB = sys::CU_TRSF_SRGB;
        /// Filtering between mipmap levels is exact.
        const DISABLE_TRILINEAR_OPTIMIZATION = sys::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
        /// Filtering goes across the edges of a cubemap's faces.
        const SEAMLESS_CUBEMAP = sys::CU_TRSF_SEAMLESS_CUBEMAP;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// How a texture samples what it is made of. The default is: clamp, point filter, coordinates that count elements.
///
/// ```
/// use cuda_launch::{AddressMode, FilterMode, TextureDescriptor};
/// let smooth = TextureDescriptor { filter: FilterMode::Linear, ..Default::default() };
/// assert_eq!(smooth.address, [AddressMode::Clamp; 3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(alias = "CUDA_TEXTURE_DESC")]
pub struct TextureDescriptor {
    /// What is read outside, for each dimension.
    pub address: [AddressMode; 3],
    /// What is read between elements.
    pub filter: FilterMode,
    /// How elements and coordinates are taken.
    pub flags: TextureFlags,
    /// What `AddressMode::Border` reads: red, green, blue, alpha.
    pub border: [f32; 4],
    /// The largest ratio of anisotropic filtering; 0 and 1 for none.
    pub max_anisotropy: u32,
    /// What is read between mipmap levels.
    pub mipmap_filter: FilterMode,
    /// Added to the mipmap level that a kernel asks for.
    pub mipmap_bias: f32,
    /// The lowest and the highest mipmap level that is read.
    pub mipmap_clamp: [f32; 2],
}

impl TextureDescriptor {
    fn raw(&self) -> CUDA_TEXTURE_DESC {
        let [minimum, maximum] = self.mipmap_clamp;
        CUDA_TEXTURE_DESC {
            addressMode: self.address.map(AddressMode::raw),
            filterMode: self.filter.raw(),
            flags: self.flags.bits(),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: self.mipmap_filter.raw(),
            mipmapLevelBias: self.mipmap_bias,
            minMipmapLevelClamp: minimum,
            maxMipmapLevelClamp: maximum,
            borderColor: self.border,
            ..CUDA_TEXTURE_DESC::default()
        }
    }

    /// Linear filtering needs floats: stored so, or read as fractions.
    fn fits<T: ArrayElement>(&self) -> Result<(), Error> {
        use super::array_format::ArrayFormat as F;
        let float = matches!(T::FORMAT, F::F16 | F::F32);
        let word = matches!(T::FORMAT, F::U32 | F::I32);
        let integers = word || !float && self.flags.contains(TextureFlags::READ_AS_INTEGER);
        if self.filter == FilterMode::Linear && integers {
            let element = std::any::type_name::<T>();
            return Err(ErrorKind::Texture(TextureError::LinearFilterOfIntegers { element }).into());
        }
        Ok(())
    }
}

/// What a kernel takes for a texture: one 64-bit parameter, `cudaTextureObject_t`.
///
/// A number that says nothing of the texture's life, as a [`DevicePtr`](crate::DevicePtr) does of memory: keep the
/// [`TextureObject`] until the kernel is done. Dropping it waits for that.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "CUtexObject")]
pub struct TextureHandle(sys::CUtexObject);

/// What a kernel takes for a surface: one 64-bit parameter, `cudaSurfaceObject_t`. Otherwise as [`TextureHandle`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "CUsurfObject")]
pub struct SurfaceHandle(sys::CUsurfObject);

// SAFETY: 1, 2: a transparent u64; 3: no address of the host.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for TextureHandle {}

// SAFETY: 1, 2: a transparent u64; 3: no address of the host.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for SurfaceHandle {}

impl TextureHandle {
    /// The raw object.
    pub const fn raw(self) -> sys::CUtexObject {
        self.0
    }
}

impl SurfaceHandle {
    /// The raw object.
    pub const fn raw(self) -> sys::CUsurfObject {
        self.0
    }
}

/// An array or linear memory that kernels read with filtering, bounds and normalized coordinates.
///
/// It keeps what it is made of alive. Kernels take [`TextureObject::handle`]; their use is not noted, so that a kernel on
/// another stream than the copy that filled the array needs `stream.join(..)`. Dropping it waits for all work of its
/// context.
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
    _of: Box<dyn Any + Send + Sync>,
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
        unsafe { Self::from_raw_parts(array.context(), &resource, &descriptor.raw(), None, owner) }
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
        unsafe { Self::from_raw_parts(mipmap.context(), &resource, &descriptor.raw(), None, owner) }
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
        unsafe { Self::from_raw_parts(context, &resource, &descriptor.raw(), None, owner) }
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
        // SAFETY: 1: the memory is live; 2: `share` keeps it.
        unsafe { Self::from_raw_parts(rows.context(), &resource, &descriptor.raw(), None, rows.share()) }
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
        let (mut raw, view) = (0, view.map_or(std::ptr::null(), std::ptr::from_ref));
        let asked = || format!("{:?}, {descriptor:?}", resource.resType);
        // SAFETY: the caller's duty 1; all structures outlive the call.
        context.call("cuTexObjectCreate", asked, |driver| unsafe {
            driver.cuTexObjectCreate(&mut raw, resource, descriptor, view)
        })?;
        Ok(Self { raw, context: context.clone(), _of: Box::new(owner) })
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
        let raw = std::mem::take(&mut self.raw);
        if raw == 0 {
            return Ok(());
        }
        // Kernels that were given the handle may still run. The error of a fault shows below as well.
        let _ = self.context.synchronize();
        // SAFETY: this value owned the object, and nothing uses it any more.
        self.context
            .call("cuTexObjectDestroy", String::new, |driver| unsafe { driver.cuTexObjectDestroy(raw) })
    }
}

impl Drop for TextureObject {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.destroy();
    }
}

impl std::fmt::Debug for TextureObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextureObject").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// An array that kernels read and write by bytes and rows, without filtering.
///
/// It keeps the array alive. Kernels take [`SurfaceObject::handle`]; their use is not noted, as with [`TextureObject`].
/// Dropping it waits for all work of its context.
///
/// ```
/// use cuda_launch::{ArrayFlags, ArrayShape, CudaArray, CudaContext, SurfaceObject};
/// let ctx = CudaContext::new(0)?;
/// let shape = ArrayShape::D2 { width: 4, height: 4 };
/// let array = CudaArray::<u32>::new(&ctx, shape, ArrayFlags::SURFACE)?;
/// let surface = SurfaceObject::new(&array)?;
/// assert_ne!(surface.handle().raw(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuSurfObjectCreate")]
pub struct SurfaceObject {
    raw: sys::CUsurfObject,
    context: CudaContext,
    _of: Arc<super::array::ArrayInner>,
}

impl SurfaceObject {
    /// A surface of an array that was made with [`ArrayFlags::SURFACE`](crate::ArrayFlags::SURFACE).
    ///
    /// Driver call: `cuSurfObjectCreate`.
    ///
    /// # Errors
    /// The array is not for surfaces, or whatever the driver answers.
    pub fn new<T: ArrayElement>(array: &CudaArray<T>) -> Result<Self, Error> {
        let (owner, context) = (array.share(), array.context().clone());
        if !owner.is_surface() {
            return Err(ErrorKind::Texture(TextureError::NoSurface).into());
        }
        owner.escape();
        let (mut raw, resource) = (0, of_array(array.raw()));
        // SAFETY: the array is live, and kept; both structures outlive the call.
        context.call("cuSurfObjectCreate", String::new, |driver| unsafe {
            driver.cuSurfObjectCreate(&mut raw, &resource)
        })?;
        Ok(Self { raw, context, _of: owner })
    }

    /// What a kernel takes.
    pub fn handle(&self) -> SurfaceHandle {
        SurfaceHandle(self.raw)
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// Destroys the surface now, after all work of its context, and says what the driver answered.
    ///
    /// Driver calls: `cuCtxSynchronize`, `cuSurfObjectDestroy`.
    ///
    /// # Errors
    /// Whatever the driver answers; the surface is gone in any case.
    #[doc(alias = "cuSurfObjectDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.destroy()
    }

    fn destroy(&mut self) -> Result<(), Error> {
        let raw = std::mem::take(&mut self.raw);
        if raw == 0 {
            return Ok(());
        }
        // Kernels that were given the handle may still run. The error of a fault shows below as well.
        let _ = self.context.synchronize();
        // SAFETY: this value owned the object, and nothing uses it any more.
        self.context
            .call("cuSurfObjectDestroy", String::new, |driver| unsafe { driver.cuSurfObjectDestroy(raw) })
    }
}

impl Drop for SurfaceObject {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.destroy();
    }
}

fn of_array(array: sys::CUarray) -> CUDA_RESOURCE_DESC {
    CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
        flags: 0,
    }
}
