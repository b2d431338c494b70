//! Mipmapped arrays: one array for each level, each half as large as the one before.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::Arc;

use super::{ARRAYS, Array, checked};
use crate::driver::context::{Context, synchronize_all};
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::handles::{Found, Handles, to_c};
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, State};

entries! {
    cuMipmappedArrayCreate(mipmap: *mut CUmipmappedArray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR, levels: c_uint) = create;
    cuMipmappedArrayGetLevel(array: *mut CUarray, mipmap: CUmipmappedArray, level: c_uint) = get_level;
    cuMipmappedArrayDestroy(mipmap: CUmipmappedArray) = destroy;
}

/// A mipmapped array.
pub(in crate::driver) struct Mipmap {
    pub(in crate::driver) context: Arc<Context>,
    /// Handles of the levels, the largest first.
    levels: Vec<usize>,
}

pub(in crate::driver) static MIPMAPS: PerSlot<Handles<Mipmap>> = per_slot!(Handles::new(21));

impl Mipmap {
    /// The arrays of the levels, the largest first.
    pub(in crate::driver) fn levels(&self) -> Vec<Arc<Array>> {
        self.levels.iter().filter_map(|level| ARRAYS.get(*level)).collect()
    }

    fn free(&self, state: &State) {
        for array in self.levels.iter().filter_map(|level| ARRAYS.remove(*level)) {
            array.free(state);
        }
    }
}

impl Call {
    /// The mipmapped array that a handle means.
    pub(in crate::driver) fn mipmap(&self, handle: CUmipmappedArray) -> Outcome<Arc<Mipmap>> {
        self.healthy()?;
        match MIPMAPS.find(handle.addr()) {
            Found::Live(mipmap) if mipmap.context.is_alive() => Ok(mipmap),
            Found::Live(_) => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            Found::Gone | Found::Unknown => Err(INVALID_HANDLE),
        }
    }
}

/// Whether the depth is a number of layers or faces, which is the same in all levels.
fn is_layered(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> bool {
    descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) != 0
}

/// The maximum number of levels: one more than the number of times that the sizes can be halved.
fn most_levels(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> u32 {
    let depth = if is_layered(descriptor) { 0 } else { descriptor.Depth };
    let largest = descriptor.Width.max(descriptor.Height).max(depth);
    largest.checked_ilog2().unwrap_or(0) + 1
}

/// The descriptor of a level.
fn level(descriptor: &CUDA_ARRAY3D_DESCRIPTOR, level: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let half = |size: usize| if size == 0 { 0 } else { (size >> level).max(1) };
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: half(descriptor.Width),
        Height: half(descriptor.Height),
        Depth: if is_layered(descriptor) { descriptor.Depth } else { half(descriptor.Depth) },
        ..*descriptor
    }
}

fn create(
    call: &Call,
    mipmap: Out<CUmipmappedArray>,
    descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>,
    levels: c_uint,
) -> Outcome {
    let (context, state) = (call.context()?, call.state()?);
    let (place, descriptor) = (mipmap.required()?, descriptor.read()?);
    checked(&descriptor)?;
    let handle = MIPMAPS.reserve();
    let mut made = Mipmap { context: Arc::clone(&context), levels: Vec::new() };
    // The driver clamps the number of levels to what the sizes allow.
    for at in 0..levels.clamp(1, most_levels(&descriptor)) {
        let array = Array::new(&context, level(&descriptor, at), Some(handle));
        let array = array.inspect_err(|_| made.free(state))?;
        let level = ARRAYS.reserve();
        ARRAYS.insert(level, Arc::new(array));
        made.levels.push(level);
    }
    MIPMAPS.insert(handle, Arc::new(made));
    place.set(to_c(handle));
    Ok(())
}

fn get_level(call: &Call, array: Out<CUarray>, mipmap: CUmipmappedArray, level: c_uint) -> Outcome {
    let place = array.required()?;
    let handle = call.mipmap(mipmap)?.levels.get(level as usize).copied().ok_or(INVALID_VALUE)?;
    place.set(to_c(handle));
    Ok(())
}

/// Waits for all work, as `cuMemFree` does: some of it may use the levels.
fn destroy(call: &Call, mipmap: CUmipmappedArray) -> Outcome {
    let state = call.healthy()?;
    call.mipmap(mipmap)?;
    synchronize_all();
    if let Some(known) = MIPMAPS.remove(mipmap.addr()) {
        known.free(state);
    }
    Ok(())
}
