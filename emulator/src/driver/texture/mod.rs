//! Texture and surface objects.
//!
//! Relies on the caller: the member of a resource description that its type names is the one that is set: C2 in `entry`.
#![allow(unsafe_code)]

pub(super) mod tensor_map;
mod view;

use cuda_driver_sys::*;
use std::sync::Arc;

use super::array::{Array, texel};
use super::context::Context;
use super::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use super::handles::Handles;
use super::slot::{PerSlot, per_slot};
use super::state::{Call, State};
use crate::texture::{Image, ImageKind, Surface, Texture, Wrap};

entries! {
    cuTexObjectCreate(texture: *mut CUtexObject, resource: *const CUDA_RESOURCE_DESC, descriptor: *const CUDA_TEXTURE_DESC, view: *const CUDA_RESOURCE_VIEW_DESC) = create_texture;
    cuTexObjectDestroy(texture: CUtexObject) = destroy_texture;
    cuTexObjectGetResourceDesc(resource: *mut CUDA_RESOURCE_DESC, texture: CUtexObject) = get_texture_resource;
    cuTexObjectGetTextureDesc(descriptor: *mut CUDA_TEXTURE_DESC, texture: CUtexObject) = get_texture;
    cuTexObjectGetResourceViewDesc(view: *mut CUDA_RESOURCE_VIEW_DESC, texture: CUtexObject) = get_view;
    cuSurfObjectCreate(surface: *mut CUsurfObject, resource: *const CUDA_RESOURCE_DESC) = create_surface;
    cuSurfObjectDestroy(surface: CUsurfObject) = destroy_surface;
    cuSurfObjectGetResourceDesc(resource: *mut CUDA_RESOURCE_DESC, surface: CUsurfObject) = get_surface_resource;
}

/// A texture or surface object, as it was described: the member of `resource` that its type names is set.
pub(super) struct Object {
    context: Arc<Context>,
    resource: CUDA_RESOURCE_DESC,
    /// Of a texture.
    descriptor: CUDA_TEXTURE_DESC,
    /// Of a texture that has one; else zeros.
    view: CUDA_RESOURCE_VIEW_DESC,
}

// SAFETY: only handles in the description prevent this from being `Send` automatically. They are pointers that are never dereferenced: they
// are looked up in tables, and returned to the program. The rest are numbers, and the context, which is `Send`.
unsafe impl Send for Object {}
// SAFETY: nothing in it changes through a shared reference, which only gives copies of the descriptions: these may be sent to other
// threads, as for `Send`; and the context is `Sync`.
unsafe impl Sync for Object {}

pub(super) static TEXTURES: PerSlot<Handles<Object>> = per_slot!(Handles::new(22));
pub(super) static SURFACES: PerSlot<Handles<Object>> = per_slot!(Handles::new(23));

/// Linear memory for a texture starts at a multiple of this, rows at multiples of the other.
const ALIGNMENT: u64 = 512;
const PITCH_ALIGNMENT: usize = 32;
/// The most elements of linear memory.
const LINEAR_WIDTH: usize = 1 << 28;

/// Forgets all texture and surface objects.
pub(super) fn clear() {
    TEXTURES.clear();
    SURFACES.clear();
}

/// Takes the objects of a context with it.
pub(super) fn forget(state: &State, context: u64) {
    for (handle, object) in TEXTURES.entries() {
        if object.context.id == context {
            TEXTURES.remove(handle);
            state.memory.objects().set_texture(handle as u64, None);
        }
    }
    for (handle, object) in SURFACES.entries() {
        if object.context.id == context {
            SURFACES.remove(handle);
            state.memory.objects().set_surface(handle as u64, None);
        }
    }
}

fn image(array: &Array) -> Image {
    let pitch = array.pitch();
    let plane = pitch * array.shape()[1];
    Image {
        address: array.address,
        texel: array.texel,
        size: array.shape(),
        pitch,
        plane,
        kind: kind(&array.descriptor),
    }
}

fn kind(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> ImageKind {
    let has = |flag: u32| descriptor.Flags & flag != 0;
    match (has(CUDA_ARRAY3D_CUBEMAP), has(CUDA_ARRAY3D_LAYERED)) {
        (true, true) => ImageKind::LayeredCubemap,
        (true, false) => ImageKind::Cubemap,
        (false, true) => ImageKind::Layered(if descriptor.Height == 0 { 1 } else { 2 }),
        (false, false) if descriptor.Depth != 0 => ImageKind::Array(3),
        (false, false) => ImageKind::Array(if descriptor.Height == 0 { 1 } else { 2 }),
    }
}

/// The images that a texture of a resource reads, and whether they are plain memory.
fn images(call: &Call, resource: &CUDA_RESOURCE_DESC) -> Outcome<(Vec<Image>, bool)> {
    let state = call.healthy()?;
    // SAFETY: each arm reads the member that the type selects, which the caller has set, by C2: handles and numbers, for which any bytes
    // are valid.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                Ok((vec![image(&*call.array(resource.res.array.hArray)?)], false))
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let levels = call.mipmap(resource.res.mipmap.hMipmappedArray)?.levels();
                Ok((levels.iter().map(|level| image(level)).collect(), false))
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let linear = resource.res.linear;
                let texel = texel(linear.format, linear.numChannels)?;
                let width = linear.sizeInBytes / texel.bytes();
                let fits = width <= LINEAR_WIDTH && linear.devPtr.is_multiple_of(ALIGNMENT);
                if width == 0 || !fits || !state.is_device_range(linear.devPtr, linear.sizeInBytes as u64) {
                    return Err(INVALID_VALUE);
                }
                let (size, pitch) = ([width, 1, 1], linear.sizeInBytes);
                Ok((
                    vec![Image {
                        address: linear.devPtr,
                        texel,
                        size,
                        pitch,
                        plane: pitch,
                        kind: ImageKind::Linear,
                    }],
                    true,
                ))
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let rows = resource.res.pitch2D;
                let texel = texel(rows.format, rows.numChannels)?;
                let bytes = rows.pitchInBytes.checked_mul(rows.height).ok_or(INVALID_VALUE)?;
                let aligned = rows.devPtr.is_multiple_of(ALIGNMENT)
                    && rows.pitchInBytes.is_multiple_of(PITCH_ALIGNMENT)
                    && rows.width.checked_mul(texel.bytes()).is_some_and(|row| row <= rows.pitchInBytes);
                let empty = rows.width == 0 || rows.height == 0;
                if empty || !aligned || !state.is_device_range(rows.devPtr, bytes as u64) {
                    return Err(INVALID_VALUE);
                }
                let size = [rows.width, rows.height, 1];
                let (address, pitch) = (rows.devPtr, rows.pitchInBytes);
                Ok((
                    vec![Image { address, texel, size, pitch, plane: bytes, kind: ImageKind::Pitched }],
                    false,
                ))
            }
            _ => Err(INVALID_VALUE),
        }
    }
}

fn wrap(mode: CUaddress_mode) -> Outcome<Wrap> {
    match mode {
        CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP => Ok(Wrap::Wrap),
        CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP => Ok(Wrap::Clamp),
        CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR => Ok(Wrap::Mirror),
        CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER => Ok(Wrap::Border),
        _ => Err(INVALID_VALUE),
    }
}

fn is_linear(filter: CUfilter_mode) -> Outcome<bool> {
    match filter {
        CUfilter_mode::CU_TR_FILTER_MODE_POINT => Ok(false),
        CUfilter_mode::CU_TR_FILTER_MODE_LINEAR => Ok(true),
        _ => Err(INVALID_VALUE),
    }
}

fn described(levels: Vec<Image>, memory: bool, descriptor: &CUDA_TEXTURE_DESC) -> Outcome<Texture> {
    let [x, y, z] = descriptor.addressMode;
    let flag = |flag: u32| descriptor.flags & flag != 0;
    let texture = Texture {
        levels,
        wrap: [wrap(x)?, wrap(y)?, wrap(z)?],
        linear: is_linear(descriptor.filterMode)?,
        normalized: flag(CU_TRSF_NORMALIZED_COORDINATES),
        integer: flag(CU_TRSF_READ_AS_INTEGER),
        srgb: flag(CU_TRSF_SRGB),
        border: descriptor.borderColor,
        mix_levels: is_linear(descriptor.mipmapFilterMode)?,
        bias: descriptor.mipmapLevelBias,
        level_range: [descriptor.minMipmapLevelClamp, descriptor.maxMipmapLevelClamp],
        memory,
        anisotropy: descriptor.maxAnisotropy,
        seamless: flag(CU_TRSF_SEAMLESS_CUBEMAP),
    };
    // Integers are not filtered.
    let channel = texture.levels.first().map(|image| image.texel.channel);
    if !memory && texture.linear && channel.is_some_and(|channel| channel.is_integer(texture.integer)) {
        return Err(INVALID_VALUE);
    }
    Ok(texture)
}

fn create_texture(
    call: &Call,
    texture: Out<CUtexObject>,
    resource: In<CUDA_RESOURCE_DESC>,
    descriptor: In<CUDA_TEXTURE_DESC>,
    view: In<CUDA_RESOURCE_VIEW_DESC>,
) -> Outcome {
    let (context, state) = (call.context()?, call.state()?);
    let (place, resource, descriptor) = (texture.required()?, resource.read()?, descriptor.read()?);
    if resource.flags != 0 {
        return Err(INVALID_VALUE);
    }
    let (levels, memory) = images(call, &resource)?;
    let (levels, view) = match view.is_null() {
        true => (levels, CUDA_RESOURCE_VIEW_DESC::default()),
        false => view::seen(call, &resource, view.read()?, levels)?,
    };
    let made = described(levels, memory, &descriptor)?;
    let handle = TEXTURES.reserve();
    state.memory.objects().set_texture(handle as u64, Some(made));
    TEXTURES.insert(handle, Arc::new(Object { context, resource, descriptor, view }));
    place.set(handle as CUtexObject);
    Ok(())
}

fn known(object: Option<Arc<Object>>) -> Outcome<Arc<Object>> {
    object.filter(|object| object.context.is_alive()).ok_or(INVALID_VALUE)
}

fn destroy_texture(call: &Call, texture: CUtexObject) -> Outcome {
    let state = call.healthy()?;
    known(TEXTURES.remove(texture as usize))?;
    state.memory.objects().set_texture(texture, None);
    Ok(())
}

fn get_texture_resource(call: &Call, resource: Out<CUDA_RESOURCE_DESC>, texture: CUtexObject) -> Outcome {
    let place = resource.required()?;
    call.healthy()?;
    place.set(known(TEXTURES.get(texture as usize))?.resource);
    Ok(())
}

fn get_texture(call: &Call, descriptor: Out<CUDA_TEXTURE_DESC>, texture: CUtexObject) -> Outcome {
    let place = descriptor.required()?;
    call.healthy()?;
    place.set(known(TEXTURES.get(texture as usize))?.descriptor);
    Ok(())
}

fn get_view(call: &Call, view: Out<CUDA_RESOURCE_VIEW_DESC>, texture: CUtexObject) -> Outcome {
    let place = view.required()?;
    call.healthy()?;
    place.set(known(TEXTURES.get(texture as usize))?.view);
    Ok(())
}

fn create_surface(call: &Call, surface: Out<CUsurfObject>, resource: In<CUDA_RESOURCE_DESC>) -> Outcome {
    let (context, state) = (call.context()?, call.state()?);
    let (place, resource) = (surface.required()?, resource.read()?);
    if resource.resType != CUresourcetype::CU_RESOURCE_TYPE_ARRAY || resource.flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the type was checked to be that of arrays and selects this member, a handle, which the caller has set, by C2.
    let array = call.array(unsafe { resource.res.array.hArray })?;
    if !array.has(CUDA_ARRAY3D_SURFACE_LDST) {
        return Err(INVALID_VALUE);
    }
    let handle = SURFACES.reserve();
    state.memory.objects().set_surface(handle as u64, Some(Surface { image: image(&array) }));
    let (descriptor, view) = (CUDA_TEXTURE_DESC::default(), CUDA_RESOURCE_VIEW_DESC::default());
    SURFACES.insert(handle, Arc::new(Object { context, resource, descriptor, view }));
    place.set(handle as CUsurfObject);
    Ok(())
}

fn destroy_surface(call: &Call, surface: CUsurfObject) -> Outcome {
    let state = call.healthy()?;
    known(SURFACES.remove(surface as usize))?;
    state.memory.objects().set_surface(surface, None);
    Ok(())
}

fn get_surface_resource(call: &Call, resource: Out<CUDA_RESOURCE_DESC>, surface: CUsurfObject) -> Outcome {
    let place = resource.required()?;
    call.healthy()?;
    place.set(known(SURFACES.get(surface as usize))?.resource);
    Ok(())
}
