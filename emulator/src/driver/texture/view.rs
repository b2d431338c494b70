//! Resource views: a part of an array, or its bytes as elements of another format (`CUDA_RESOURCE_VIEW_DESC`). What is taken and what is refused
//! is an H200's answer.
#![allow(unsafe_code)]
// Relies on the caller: the member of a resource description that its type names is the one that is set: C2 in `entry`.

use cuda_driver_sys::*;

use super::super::array::texel;
use super::super::entry::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use super::super::state::Call;
use crate::texture::{Image, Texel};

/// The formats of elements, in the order of `CUresourceViewFormat`: each with 1, 2 and 4 channels.
const FORMATS: [CUarray_format; 8] = [
    CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
    CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
    CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
    CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
    CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
    CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
    CUarray_format::CU_AD_FORMAT_HALF,
    CUarray_format::CU_AD_FORMAT_FLOAT,
];

/// What an element of a view is. Blocks of compressed elements are not emulated.
fn element(format: CUresourceViewFormat) -> Outcome<Texel> {
    let index =
        usize::try_from(format.0).ok().and_then(|format| format.checked_sub(1)).ok_or(INVALID_VALUE)?;
    match FORMATS.get(index / 3) {
        Some(format) => texel(*format, [1, 2, 4][index % 3]),
        None if index < 34 => Err(NOT_SUPPORTED),
        None => Err(INVALID_VALUE),
    }
}

/// The description of the array of a resource, of whose elements and sizes a view is; `None` where the driver does not look at views.
fn described(call: &Call, resource: &CUDA_RESOURCE_DESC) -> Outcome<Option<CUDA_ARRAY3D_DESCRIPTOR>> {
    // SAFETY: each arm reads the member that the type names, which the caller has set, by C2: a handle, of which any bytes are a value.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                Ok(Some(call.array(resource.res.array.hArray)?.descriptor))
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let mipmap = call.mipmap(resource.res.mipmap.hMipmappedArray)?;
                Ok(mipmap.levels().first().map(|level| level.descriptor))
            }
            _ => Ok(None),
        }
    }
}

/// The levels and layers of `images` that a view shows, as elements of its format; and the view, as far as the driver keeps it.
pub(super) fn seen(
    call: &Call,
    resource: &CUDA_RESOURCE_DESC,
    view: CUDA_RESOURCE_VIEW_DESC,
    images: Vec<Image>,
) -> Outcome<(Vec<Image>, CUDA_RESOURCE_VIEW_DESC)> {
    let Some(array) = described(call, resource)? else {
        return Ok((images, CUDA_RESOURCE_VIEW_DESC::default()));
    };
    let layered = array.Flags & CUDA_ARRAY3D_LAYERED != 0;
    let is_mipmap = resource.resType == CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    let one = |first: u32, last: u32| first == 0 && last == 0;
    if (view.firstMipmapLevel > view.lastMipmapLevel || view.firstLayer > view.lastLayer)
        || !is_mipmap && !one(view.firstMipmapLevel, view.lastMipmapLevel)
        || !layered && !one(view.firstLayer, view.lastLayer)
    {
        return Err(INVALID_VALUE);
    }
    let texel = element(view.format)?;
    if (view.width, view.height, view.depth) != (array.Width, array.Height, array.Depth)
        || images.first().is_none_or(|image| image.texel.bytes() != texel.bytes())
    {
        return Err(INVALID_VALUE);
    }
    // Behind the last level there is the last; behind the last layer an H200 reads zeros.
    let end = images.len().saturating_sub(1);
    let [first, last] = [view.firstMipmapLevel, view.lastMipmapLevel].map(|level| (level as usize).min(end));
    let mut images = images.get(first..=last).ok_or(INVALID_VALUE)?.to_vec();
    for image in &mut images {
        image.texel = texel;
        if layered {
            let layers = image.size[2].checked_sub(view.firstLayer as usize).filter(|layers| *layers > 0);
            let wanted = (view.lastLayer - view.firstLayer) as usize + 1;
            image.size[2] = layers.ok_or(NOT_SUPPORTED)?.min(wanted);
            image.address += (view.firstLayer as usize * image.plane) as u64;
        }
    }
    Ok((images, view))
}
