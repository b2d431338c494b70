//! The formats of the elements of arrays and textures.

use cuda_driver_sys::CUarray_format;

use crate::driver::entry::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::driver::since::Known;
use crate::texture::{Channel, Texel};

/// The element format of a descriptor. Compressed and planar formats are not emulated.
pub(in crate::driver) fn texel(format: CUarray_format, channels: u32) -> Outcome<Texel> {
    use CUarray_format as F;
    let channel = match format.known()? {
        F::CU_AD_FORMAT_UNSIGNED_INT8 => Channel::U8,
        F::CU_AD_FORMAT_UNSIGNED_INT16 => Channel::U16,
        F::CU_AD_FORMAT_UNSIGNED_INT32 => Channel::U32,
        F::CU_AD_FORMAT_SIGNED_INT8 => Channel::I8,
        F::CU_AD_FORMAT_SIGNED_INT16 => Channel::I16,
        F::CU_AD_FORMAT_SIGNED_INT32 => Channel::I32,
        F::CU_AD_FORMAT_HALF => Channel::F16,
        F::CU_AD_FORMAT_FLOAT => Channel::F32,
        _ => return normalized(format, channels),
    };
    if matches!(channels, 1 | 2 | 4) { Ok(Texel { channel, channels }) } else { Err(INVALID_VALUE) }
}

/// The formats whose name includes the number of channels.
fn normalized(format: CUarray_format, given: u32) -> Outcome<Texel> {
    use CUarray_format as F;
    let (channel, channels) = match format {
        F::CU_AD_FORMAT_UNORM_INT8X1 => (Channel::Unorm8, 1),
        F::CU_AD_FORMAT_UNORM_INT8X2 => (Channel::Unorm8, 2),
        F::CU_AD_FORMAT_UNORM_INT8X4 => (Channel::Unorm8, 4),
        F::CU_AD_FORMAT_UNORM_INT16X1 => (Channel::Unorm16, 1),
        F::CU_AD_FORMAT_UNORM_INT16X2 => (Channel::Unorm16, 2),
        F::CU_AD_FORMAT_UNORM_INT16X4 => (Channel::Unorm16, 4),
        F::CU_AD_FORMAT_SNORM_INT8X1 => (Channel::Snorm8, 1),
        F::CU_AD_FORMAT_SNORM_INT8X2 => (Channel::Snorm8, 2),
        F::CU_AD_FORMAT_SNORM_INT8X4 => (Channel::Snorm8, 4),
        F::CU_AD_FORMAT_SNORM_INT16X1 => (Channel::Snorm16, 1),
        F::CU_AD_FORMAT_SNORM_INT16X2 => (Channel::Snorm16, 2),
        F::CU_AD_FORMAT_SNORM_INT16X4 => (Channel::Snorm16, 4),
        CUarray_format(80..=94 | 145..=184) => return Err(NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    };
    if channels == given { Ok(Texel { channel, channels }) } else { Err(INVALID_VALUE) }
}
