//! Tensor maps: descriptions of tensors for the copy engine of compute capability 9.0 and later.

#![allow(unsafe_code)] // Calls of the driver with lists whose lengths were checked; implementing `DeviceCopy`.

use cuda_driver_sys::{CUtensorMap, CUtensorMapFloatOOBfill};
use std::ffi::c_void;

use super::layout::{
    Interleave, L2Promotion, MAX_RANK, OutOfBoundsFill, Swizzle, TensorDataType, TensorLayout,
};
use crate::driver::CudaContext;
use crate::error::Error;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::DeviceSlice;

/// A tensor map: a by-value argument of 128 bytes, aligned to 128, `const __grid_constant__ CUtensorMap`.
///
/// A value that contains an address, like a [`DevicePtr`](crate::DevicePtr): keep the memory alive until the kernels
/// that were given the map are done. It may be copied freely. [`TensorMapObject`](crate::tensor::TensorMapObject) keeps
/// the memory alive, and launches of typed modules order it.
///
/// ```
/// use cuda_launch::tensor::{Swizzle, TensorMap};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// // 64 rows of 128 floats, copied in boxes of 8 rows of 32.
/// let matrix = DeviceBuffer::<f32>::zeroed(&stream, 64 * 128)?;
/// let map = TensorMap::tiled([128, 64], [32, 8]).swizzle(Swizzle::Bytes128).encode(&ctx, &matrix);
/// match map {
///     Err(error) if error.is_unsupported() => return Ok(()), // a device before 9.0
///     map => assert!(align_of_val(&map?) >= 64),
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
#[doc(alias = "CUtensorMap")]
pub struct TensorMap(CUtensorMap);

// SAFETY: 1, 2: an opaque `repr(C)` array of u64 without padding; 3: it holds device addresses only.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for TensorMap {}

/// A builder for a tensor map: tiles of a tensor. Created by [`TensorMap::tiled`].
#[derive(Clone, Debug)]
#[must_use = "it has no effect until it is encoded"]
pub struct TiledMap {
    layout: TensorLayout,
    tile: Vec<u32>,
}

/// A builder for a tensor map: columns of pixels, as convolutions read them. Created by [`TensorMap::im2col`].
///
/// ```
/// use cuda_launch::tensor::{TensorDataType, TensorMap};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// // 4 images of 16 x 16 pixels of 64 channels; a filter of 3 x 3 with a border of one pixel.
/// let images = DeviceBuffer::<u16>::zeroed(&stream, 4 * 16 * 16 * 64)?;
/// let map = TensorMap::im2col([64, 16, 16, 4], &[-1, -1], &[-1, -1], 64, 128)
///     .data_type(TensorDataType::F16)
///     .encode(&ctx, &images);
/// assert!(map.is_ok() || map.is_err_and(|error| error.is_unsupported()));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it has no effect until it is encoded"]
pub struct Im2colMap {
    layout: TensorLayout,
    lower: Vec<i32>,
    upper: Vec<i32>,
    channels: u32,
    pixels: u32,
}

impl TensorMap {
    /// Describes a tensor of `dims` elements, innermost first, that is copied in boxes of `tile` elements.
    ///
    /// Without [`TiledMap::strides`] the tensor is dense.
    pub fn tiled<const R: usize>(dims: [u64; R], tile: [u32; R]) -> TiledMap {
        TiledMap { layout: TensorLayout::dense(&dims), tile: tile.into() }
    }

    /// Describes a tensor of `dims` elements: channels, pixels (width, height, depth, as applicable), images.
    ///
    /// The corners bound the pixels where a filter may be placed, relative to the image's own corners; they have two
    /// dimensions fewer than the tensor. `channels` of up to `pixels` pixels are copied at a time.
    pub fn im2col<const R: usize>(
        dims: [u64; R],
        lower: &[i32],
        upper: &[i32],
        channels: u32,
        pixels: u32,
    ) -> Im2colMap {
        let (lower, upper) = (lower.to_vec(), upper.to_vec());
        Im2colMap { layout: TensorLayout::dense(&dims), lower, upper, channels, pixels }
    }

    /// The same map for another tensor of this layout, at another address.
    ///
    /// Driver call: `cuTensorMapReplaceAddress`.
    ///
    /// # Errors
    /// The address is not a multiple of 16, the memory belongs to another driver than the context, or any error
    /// returned by the driver.
    ///
    /// # Safety
    /// 1. A driver has written this map: [`encode`](TiledMap::encode), this function, or `cuTensorMapEncode*` in other code. Other bytes
    ///    can be a `TensorMap`, too, such as those of a buffer of zeros, and no documentation says what the driver does with them.
    #[doc(alias = "cuTensorMapReplaceAddress")]
    pub unsafe fn with_memory<T: DeviceCopy>(
        &self,
        context: &CudaContext,
        memory: &impl DeviceSlice<Element = T>,
    ) -> Result<Self, Error> {
        context.same_driver(memory.context(), "the memory", "the context")?;
        let (mut map, address) = (*self, memory.address());
        super::layout::check_address(address, 16)?;
        context.call(
            "cuTensorMapReplaceAddress",
            || format!("{address:#x}"),
            // SAFETY: `map` is 128 bytes at a multiple of 64, which outlive the call and are what a driver wrote (duty 1); the address is
            // a number in it, which the driver does not follow.
            |driver| unsafe { driver.cuTensorMapReplaceAddress(&mut map.0, pointer(address)) },
        )?;
        Ok(map)
    }

    /// The driver's representation.
    pub fn raw(&self) -> &CUtensorMap {
        &self.0
    }

    /// A tensor map that other code encoded.
    pub fn from_raw(raw: CUtensorMap) -> Self {
        Self(raw)
    }
}

/// The options that both kinds of map share.
macro_rules! options {
    ($name:ident) => {
        impl $name {
            /// The stride of each dimension but the innermost, in bytes: multiples of 16.
            pub fn strides(mut self, strides: &[u64]) -> Self {
                self.layout.strides = Some(strides.to_vec());
                self
            }

            /// The element stride of each dimension: one of this many elements is copied; 1 to 8, by default 1.
            pub fn element_strides(mut self, steps: &[u32]) -> Self {
                self.layout.steps = steps.to_vec();
                self
            }

            /// How elements are interpreted, where their type does not determine it: `bf16` as `u16`, `tf32` as `f32`,
            /// packed ones.
            pub fn data_type(mut self, data_type: TensorDataType) -> Self {
                self.layout.data_type = Some(data_type);
                self
            }

            /// The layout of the channels in memory.
            pub fn interleave(mut self, interleave: Interleave) -> Self {
                self.layout.interleave = interleave;
                self
            }

            /// How rows are swizzled in shared memory, to avoid bank conflicts.
            pub fn swizzle(mut self, swizzle: Swizzle) -> Self {
                self.layout.swizzle = swizzle;
                self
            }

            /// How much the L2 cache fetches at a time.
            pub fn l2_promotion(mut self, promotion: L2Promotion) -> Self {
                self.layout.promotion = promotion;
                self
            }

            /// The value of elements outside the tensor.
            pub fn out_of_bounds(mut self, fill: OutOfBoundsFill) -> Self {
                self.layout.fill = fill;
                self
            }
        }
    };
}

options!(TiledMap);
options!(Im2colMap);

impl TiledMap {
    /// The map of the tensor that starts at the start of `memory`.
    ///
    /// Every rule documented for the driver is checked first; an error names the value that violates it. Driver call:
    /// `cuTensorMapEncodeTiled`.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`] if the tensor is larger than the memory, `ErrorKind::TensorMap` for a broken rule,
    /// [`Error::is_unsupported`] if the driver or the device does not support tensor maps,
    /// [`Error::is_context_mismatch`] for memory of another driver, or any error returned by the driver.
    #[doc(alias = "cuTensorMapEncodeTiled")]
    pub fn encode<T: DeviceCopy>(
        &self,
        context: &CudaContext,
        memory: &impl DeviceSlice<Element = T>,
    ) -> Result<TensorMap, Error> {
        context.same_driver(memory.context(), "the memory", "the context")?;
        self.encode_at::<T>(context, memory.address(), memory.len() * size_of::<T>())
    }

    pub(in crate::memory) fn encode_at<T: DeviceCopy>(
        &self,
        context: &CudaContext,
        address: u64,
        bytes: usize,
    ) -> Result<TensorMap, Error> {
        let known = self.layout.check::<T>(address, bytes)?;
        self.layout.check_tile(&self.tile, known.data_type)?;
        let (layout, mut map) = (&self.layout, CUtensorMap::default());
        context.call(
            "cuTensorMapEncodeTiled",
            || format!("{self:?}"),
            // SAFETY: `map` is aligned to 64 bytes; `tiled` made the tile as long as the rank, and `check` found the other lists so,
            // strides one less; all outlive the call. The driver does not follow the address.
            |driver| unsafe {
                driver.cuTensorMapEncodeTiled(
                    &mut map,
                    known.data_type.raw(),
                    known.rank,
                    pointer(address),
                    layout.dims.as_ptr(),
                    known.strides.as_ptr(),
                    self.tile.as_ptr(),
                    layout.steps.as_ptr(),
                    layout.interleave.raw(),
                    layout.swizzle.raw(),
                    layout.promotion.raw(),
                    fill(layout.fill),
                )
            },
        )?;
        Ok(TensorMap(map))
    }
}

impl Im2colMap {
    /// The map of the tensor that starts at the start of `memory`.
    ///
    /// Every rule documented for the driver is checked first; an error names the value that violates it. Driver call:
    /// `cuTensorMapEncodeIm2col`.
    ///
    /// # Errors
    /// As for [`TiledMap::encode`].
    #[doc(alias = "cuTensorMapEncodeIm2col")]
    pub fn encode<T: DeviceCopy>(
        &self,
        context: &CudaContext,
        memory: &impl DeviceSlice<Element = T>,
    ) -> Result<TensorMap, Error> {
        context.same_driver(memory.context(), "the memory", "the context")?;
        self.encode_at::<T>(context, memory.address(), memory.len() * size_of::<T>())
    }

    pub(in crate::memory) fn encode_at<T: DeviceCopy>(
        &self,
        context: &CudaContext,
        address: u64,
        bytes: usize,
    ) -> Result<TensorMap, Error> {
        let known = self.layout.check::<T>(address, bytes)?;
        self.layout.check_pixels([&self.lower, &self.upper], self.channels, self.pixels, known.data_type)?;
        let (layout, mut map) = (&self.layout, CUtensorMap::default());
        context.call(
            "cuTensorMapEncodeIm2col",
            || format!("{self:?}"),
            // SAFETY: `map` is aligned to 64 bytes; `check` and `check_pixels` found the lists as long as the rank says, strides one less
            // and corners two less; all outlive the call. The driver does not follow the address.
            |driver| unsafe {
                driver.cuTensorMapEncodeIm2col(
                    &mut map,
                    known.data_type.raw(),
                    known.rank,
                    pointer(address),
                    layout.dims.as_ptr(),
                    known.strides.as_ptr(),
                    self.lower.as_ptr(),
                    self.upper.as_ptr(),
                    self.channels,
                    self.pixels,
                    layout.steps.as_ptr(),
                    layout.interleave.raw(),
                    layout.swizzle.raw(),
                    layout.promotion.raw(),
                    fill(layout.fill),
                )
            },
        )?;
        Ok(TensorMap(map))
    }
}

fn fill(fill: OutOfBoundsFill) -> CUtensorMapFloatOOBfill {
    fill.raw()
}

/// A device address as the driver's functions for tensor maps take it.
fn pointer(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}

const _: () = assert!(size_of::<TensorMap>() == 128 && MAX_RANK == 5);
