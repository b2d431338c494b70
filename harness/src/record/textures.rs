//! Textures of memory among the arguments of a launch: what they are, or why a recording cannot have them.
//!
//! Relies on: the driver writes no more than the structures that it gets, and sets the member of the union that the kind of resource names.
#![allow(unsafe_code)]

use super::format::{SAMPLING, Texture};
use crate::kind::Kind;
use crate::launch::Parameter;
use crate::objects::Objects;
use cuda_driver_sys::{CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUresourcetype as Resource, CUresult, Driver};

/// Textures and surfaces among the arguments. Without PTX (`samples` is none) a kernel may use one wherever an argument has its number.
pub(super) fn among(
    driver: &Driver,
    objects: &Objects,
    samples: Option<bool>,
    parameters: &[Parameter],
) -> Result<Vec<Texture>, String> {
    let mut found = Vec::new();
    if samples == Some(false) {
        return Ok(found);
    }
    let live = |kind, word| {
        let object = objects.at(objects.find(kind, word)?)?;
        object.is_live().then_some(object.name)
    };
    for (number, parameter) in parameters.iter().enumerate() {
        for (place, word) in parameter.bytes.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            if let Some(name) = live(Kind::Surface, word) {
                return Err(refused(number, &name.to_string(), ""));
            }
            let Some(name) = live(Kind::Texture, word) else { continue };
            let texture = ask(driver, word, parameter.offset + 8 * place)
                .map_err(|of| refused(number, &name.to_string(), of))?;
            found.push(texture);
        }
    }
    Ok(found)
}

fn refused(number: usize, name: &str, of: &str) -> String {
    format!(
        "argument {number} is {name}{of}, and a recording has no surfaces and no arrays: have the kernel read memory instead, or run the whole program on the emulator, with `cuda-launch emulate`"
    )
}

/// What a texture is of, and how it is read; in the words of `refused` if it is not of memory.
fn ask(driver: &Driver, object: u64, offset: usize) -> Result<Texture, &'static str> {
    let (mut resource, mut sampling) = (CUDA_RESOURCE_DESC::default(), CUDA_TEXTURE_DESC::default());
    // SAFETY: the structures outlive the calls; an object that is none is answered by an error.
    let answers = unsafe {
        [
            driver.cuTexObjectGetResourceDesc(&mut resource, object),
            driver.cuTexObjectGetTextureDesc(&mut sampling, object),
        ]
    };
    if answers != [CUresult::SUCCESS; 2] {
        return Err(", which the driver does not describe");
    }
    // SAFETY: both types have 104 bytes, as the compiler compares; one is numbers without gaps, of which all bytes are set.
    let sampling = unsafe { std::mem::transmute::<CUDA_TEXTURE_DESC, [u8; SAMPLING]>(sampling) };
    let offset = u32::try_from(offset).unwrap_or(u32::MAX);
    match resource.resType {
        Resource::CU_RESOURCE_TYPE_LINEAR => {
            // SAFETY: the member that the kind names, which the driver has set.
            let of = unsafe { resource.res.linear };
            let (address, format, channels) = (of.devPtr, of.format.0, of.numChannels);
            Ok(Texture {
                offset,
                address,
                format,
                channels,
                width: of.sizeInBytes as u64,
                height: 0,
                pitch: 0,
                sampling,
            })
        }
        Resource::CU_RESOURCE_TYPE_PITCH2D => {
            // SAFETY: as above.
            let of = unsafe { resource.res.pitch2D };
            let (address, format, channels) = (of.devPtr, of.format.0, of.numChannels);
            let (width, height, pitch) = (of.width as u64, of.height as u64, of.pitchInBytes as u64);
            Ok(Texture { offset, address, format, channels, width, height, pitch, sampling })
        }
        _ => Err(", of an array"),
    }
}
