//! The textures of a recording, made anew.
//!
//! Relies on: the driver upholds its contract, and checks what a texture is of.
#![allow(unsafe_code)]

use cuda_harness::record::{SAMPLING, Texture};
use cuda_launch::Driver;
use cuda_launch::sys::*;
use std::ptr::null;

use super::device::ok;
use crate::failure::Failure;

/// A texture of the memory that is now at an address. It lives until this process ends.
pub(super) fn create(driver: &Driver, texture: &Texture, address: u64) -> Result<u64, Failure> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (format, channels) = (CUarray_format(texture.format), texture.channels);
    let mut resource = CUDA_RESOURCE_DESC::default();
    match texture.pitch {
        0 => {
            let size_in_bytes = size(texture.width);
            resource.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
            resource.res.linear = CUDA_RESOURCE_DESC_res_linear {
                devPtr: address,
                format,
                numChannels: channels,
                sizeInBytes: size_in_bytes,
            };
        }
        pitch => {
            resource.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
            resource.res.pitch2D = CUDA_RESOURCE_DESC_res_pitch2D {
                devPtr: address,
                format,
                numChannels: channels,
                width: size(texture.width),
                height: size(texture.height),
                pitchInBytes: size(pitch),
            };
        }
    }
    // SAFETY: both types have 104 bytes, as the compiler compares; the other is numbers, of which any bytes are a value.
    let sampling = unsafe { std::mem::transmute::<[u8; SAMPLING], CUDA_TEXTURE_DESC>(texture.sampling) };
    let mut object = 0;
    // SAFETY: the output and the structures, of which the member is set that the kind names, outlive the call, which returns an error for
    // values that it does not accept. A view is optional.
    let code = unsafe { driver.cuTexObjectCreate(&mut object, &resource, &sampling, null()) };
    ok("cuTexObjectCreate", code).map_err(|failure| {
        failure.with(&format!("a texture of the memory recorded at {:#x}", texture.address))
    })?;
    Ok(object)
}
