//! What the elements of arrays are, to Rust and to the driver.

#![allow(unsafe_code)] // Declaring and implementing an unsafe trait for numbers and short arrays of them.

use cuda_driver_sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray_format};

use crate::memory::device_copy::DeviceCopy;
use crate::open_number::open_number;

open_number! {
    /// How the driver stores one channel of an array's element (`CUarray_format`). Non-exhaustive:
    /// [`ArrayFormat::from_raw`] takes values that this version has no name for.
    ///
    /// ```
    /// use cuda_launch::texture::{ArrayElement, ArrayFormat};
    /// assert_eq!((<[f32; 4]>::FORMAT, <[f32; 4]>::CHANNELS), (ArrayFormat::F32, 4));
    /// ```
    #[doc(alias = "CUarray_format")]
    pub struct ArrayFormat(CUarray_format);

    /// 8 bits, unsigned.
    U8 = CU_AD_FORMAT_UNSIGNED_INT8;
    /// 16 bits, unsigned.
    U16 = CU_AD_FORMAT_UNSIGNED_INT16;
    /// 32 bits, unsigned.
    U32 = CU_AD_FORMAT_UNSIGNED_INT32;
    /// 8 bits, signed.
    I8 = CU_AD_FORMAT_SIGNED_INT8;
    /// 16 bits, signed.
    I16 = CU_AD_FORMAT_SIGNED_INT16;
    /// 32 bits, signed.
    I32 = CU_AD_FORMAT_SIGNED_INT32;
    /// 16-bit float.
    F16 = CU_AD_FORMAT_HALF;
    /// 32-bit float.
    F32 = CU_AD_FORMAT_FLOAT;
}

/// Elements that arrays and textures can have: 1, 2 or 4 channels of one kind.
///
/// Implemented for `u8`, `u16`, `u32`, their signed counterparts, `f32`, `half::f16` (feature `half`), and arrays of 2
/// or 4 of them, which are what CUDA C calls `uchar4` or `float2`.
///
/// # Safety
/// 1. The type has the size of `CHANNELS` channels of `FORMAT`.
#[diagnostic::on_unimplemented(
    message = "an array or texture cannot be made of `{Self}`",
    label = "not 1, 2 or 4 channels of 8, 16 or 32 bits",
    note = "element types are `u8`, `u16`, `u32`, `i8`, `i16`, `i32`, `f32`, `half::f16`, and arrays of 2 or 4 of these"
)]
pub unsafe trait ArrayElement: DeviceCopy {
    /// The format of a channel.
    const FORMAT: ArrayFormat;
    /// Channels: 1, 2 or 4.
    const CHANNELS: u32;
}

macro_rules! elements {
    ($($ty:ty => $format:ident),* $(,)?) => {$(
        elements!(@one $ty, 1, $format);
        elements!(@one [$ty; 2], 2, $format);
        elements!(@one [$ty; 4], 4, $format);
    )*};
    (@one $ty:ty, $channels:literal, $format:ident) => {
        // SAFETY: 1: a number of the bits that the format names, or an array of as many as there are channels.
        #[diagnostic::do_not_recommend]
        unsafe impl ArrayElement for $ty {
            const FORMAT: ArrayFormat = ArrayFormat::$format;
            const CHANNELS: u32 = $channels;
        }
    };
}

elements! { u8 => U8, u16 => U16, u32 => U32, i8 => I8, i16 => I16, i32 => I32, f32 => F32 }

#[cfg(feature = "half")]
elements! { half::f16 => F16 }

/// What an array is, as the driver reports it.
///
/// ```
/// use cuda_launch::texture::{ArrayFlags, ArrayFormat, ArrayShape, CudaArray};
/// use cuda_launch::CudaContext;
/// let shape = ArrayShape::Layered2D { width: 8, height: 4, layers: 3 };
/// let array = CudaArray::<[u8; 4]>::new(&CudaContext::new(0)?, shape, ArrayFlags::SURFACE)?;
/// let said = array.descriptor()?;
/// assert_eq!((said.width, said.height, said.depth), (8, 4, 3));
/// assert_eq!((said.format, said.channels), (ArrayFormat::U8, 4));
/// assert_eq!(said.flags, ArrayFlags::SURFACE | ArrayFlags::LAYERED);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUDA_ARRAY3D_DESCRIPTOR")]
pub struct ArrayDescriptor {
    /// Elements per row.
    pub width: usize,
    /// Rows; 0 for a one-dimensional array.
    pub height: usize,
    /// Planes or layers; 0 for an array that has none.
    pub depth: usize,
    /// The format of a channel.
    pub format: ArrayFormat,
    /// Channels per element.
    pub channels: u32,
    /// `CUDA_ARRAY3D_*`.
    pub flags: super::array::ArrayFlags,
}

impl ArrayDescriptor {
    pub(in crate::memory) fn from_raw(raw: &CUDA_ARRAY3D_DESCRIPTOR) -> Self {
        Self {
            width: raw.Width,
            height: raw.Height,
            depth: raw.Depth,
            format: ArrayFormat::from_raw(raw.Format),
            channels: raw.NumChannels,
            flags: super::array::ArrayFlags::from_bits_retain(raw.Flags),
        }
    }

    pub(in crate::memory) fn raw(&self) -> CUDA_ARRAY3D_DESCRIPTOR {
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: self.width,
            Height: self.height,
            Depth: self.depth,
            Format: self.format.raw(),
            NumChannels: self.channels,
            Flags: self.flags.bits(),
        }
    }
}
