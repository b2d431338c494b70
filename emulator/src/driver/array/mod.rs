//! Arrays: device memory that programs cannot address, only copy to and from, and read through textures and surfaces.
//!
//! The bytes are stored row after row without gaps in an allocation of device memory whose address no function
//! returns.

mod format;
pub(super) mod linear;
pub(super) mod mipmap;

use cuda_driver_sys::*;
use std::sync::Arc;

use super::context::{Context, synchronize_all};
use super::entry::{INVALID_HANDLE, INVALID_VALUE};
use super::entry::{In, NOT_SUPPORTED, Out, Outcome, entries};
use super::exhausted::exhausted;
use super::handles::{Found, Handles, to_c};
use super::slot::{PerSlot, per_slot};
use super::state::{Call, State};
use crate::texture::Texel;
pub(super) use format::texel;
use mipmap::MIPMAPS;

entries! {
    cuArrayCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY_DESCRIPTOR) = create;
    cuArray3DCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR) = create_3d;
    cuArrayDestroy(array: CUarray) = destroy;
    cuArrayGetDescriptor_v2(descriptor: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray) = get_descriptor;
    cuArray3DGetDescriptor_v2(descriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray) = get_descriptor_3d;
}

/// An array.
pub(super) struct Array {
    pub(super) context: Arc<Context>,
    pub(super) descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// The format of an element.
    pub(super) texel: Texel,
    /// The address of its bytes.
    pub(super) address: u64,
    /// Made with the mipmapped array of that handle, and destroyed with it.
    pub(super) level_of: Option<usize>,
}

pub(super) static ARRAYS: PerSlot<Handles<Array>> = per_slot!(Handles::new(20));

/// The flags that the emulator has, by `CUDA_ARRAY3D_*`: layered, surface, cubemap, gather, depth.
const FLAGS: u32 = CUDA_ARRAY3D_LAYERED
    | CUDA_ARRAY3D_SURFACE_LDST
    | CUDA_ARRAY3D_CUBEMAP
    | CUDA_ARRAY3D_TEXTURE_GATHER
    | CUDA_ARRAY3D_DEPTH_TEXTURE
    | CUDA_ARRAY3D_COLOR_ATTACHMENT;

/// The maximum width, height and depth or layers of arrays: the device attributes of an H200.
const LIMIT_1D: [usize; 3] = [131_072, 0, 0];
const LIMIT_1D_LAYERED: [usize; 3] = [32_768, 0, 2_048];
const LIMIT_2D: [usize; 3] = [131_072, 65_536, 0];
const LIMIT_2D_LAYERED: [usize; 3] = [32_768, 32_768, 2_048];
const LIMIT_3D: [usize; 3] = [16_384; 3];
const LIMIT_CUBEMAP: [usize; 3] = [32_768, 32_768, 6 * 2_046];

/// Forgets all arrays.
pub(super) fn clear() {
    mipmap::MIPMAPS.clear();
    ARRAYS.clear();
}

impl Array {
    /// Checks a descriptor and allocates; `level_of` as the field.
    fn new(
        context: &Arc<Context>,
        descriptor: CUDA_ARRAY3D_DESCRIPTOR,
        level_of: Option<usize>,
    ) -> Outcome<Array> {
        let texel = checked(&descriptor)?;
        let [width, rows, planes] = shape(&descriptor);
        let bytes = [texel.bytes(), width, rows, planes].into_iter().try_fold(1_usize, usize::checked_mul);
        let bytes = bytes.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)? as u64;
        let address = context.memory.allocate(bytes).map_err(|_| exhausted(&context.memory, bytes))?;
        Ok(Array { context: Arc::clone(context), descriptor, texel, address, level_of })
    }

    /// Elements of a row, rows of a plane, planes or layers; none is 0.
    pub(super) fn shape(&self) -> [usize; 3] {
        shape(&self.descriptor)
    }

    /// Bytes of a row.
    pub(super) fn pitch(&self) -> usize {
        self.shape()[0] * self.texel.bytes()
    }

    /// The offset of a region that starts `at` bytes, rows and planes into the array and has `size` bytes, rows and
    /// planes. `None` if it is not inside, or does not consist of whole elements.
    pub(super) fn place(&self, [x, y, z]: [usize; 3], [width, height, depth]: [usize; 3]) -> Option<u64> {
        let (pitch, [_, rows, planes], element) = (self.pitch(), self.shape(), self.texel.bytes());
        let inside = |start: usize, count: usize, limit: usize| {
            start.checked_add(count).is_some_and(|end| end <= limit)
        };
        let whole = x.is_multiple_of(element) && width.is_multiple_of(element);
        let fits = inside(x, width, pitch) && inside(y, height, rows) && inside(z, depth, planes);
        (whole && fits).then(|| self.address + ((z * rows + y) * pitch + x) as u64)
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> usize {
        self.shape()[1] * self.shape()[2] * self.pitch()
    }

    /// Whether one of its flags is set.
    pub(super) fn has(&self, flag: u32) -> bool {
        self.descriptor.Flags & flag != 0
    }

    /// Gives its memory back.
    fn free(&self, state: &State) {
        // The allocation is live, because only this array frees it.
        let _ = state.memory.free(self.address);
    }
}

fn shape(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> [usize; 3] {
    [descriptor.Width, descriptor.Height.max(1), descriptor.Depth.max(1)]
}

/// The element format of a descriptor, if the driver accepts the descriptor.
fn checked(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<Texel> {
    let CUDA_ARRAY3D_DESCRIPTOR { Width: width, Height: height, Depth: depth, Flags: flags, .. } =
        *descriptor;
    if flags & !FLAGS != 0 {
        return Err(if flags >> 9 == 0 { NOT_SUPPORTED } else { INVALID_VALUE });
    }
    let texel = texel(descriptor.Format, descriptor.NumChannels)?;
    let (layered, cube) = (flags & CUDA_ARRAY3D_LAYERED != 0, flags & CUDA_ARRAY3D_CUBEMAP != 0);
    let (limit, complete) = match (cube, layered, height, depth) {
        (true, ..) => {
            let faces = if layered { depth.is_multiple_of(6) } else { depth == 6 };
            (LIMIT_CUBEMAP, width == height && depth != 0 && faces)
        }
        (false, true, 0, _) => (LIMIT_1D_LAYERED, depth != 0),
        (false, true, ..) => (LIMIT_2D_LAYERED, depth != 0),
        (false, false, 0, 0) => (LIMIT_1D, true),
        (false, false, _, 0) => (LIMIT_2D, true),
        (false, false, ..) => (LIMIT_3D, height != 0),
    };
    let inside = [width, height, depth].into_iter().zip(limit).all(|(size, limit)| size <= limit);
    let gather = flags & CUDA_ARRAY3D_TEXTURE_GATHER == 0 || height != 0 && depth == 0;
    if width == 0 || !complete || !inside || !gather {
        return Err(INVALID_VALUE);
    }
    Ok(texel)
}

impl Call {
    /// The array that a handle means.
    pub(super) fn array(&self, handle: CUarray) -> Outcome<Arc<Array>> {
        self.healthy()?;
        match ARRAYS.find(handle.addr()) {
            Found::Live(array) if array.context.is_alive() => Ok(array),
            Found::Live(_) => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            Found::Gone | Found::Unknown => Err(INVALID_HANDLE),
        }
    }
}

/// Takes everything with it that a context owns of arrays.
pub(super) fn forget(state: &State, context: u64) {
    for (handle, array) in ARRAYS.entries() {
        if array.context.id == context && ARRAYS.remove(handle).is_some() {
            array.free(state);
        }
    }
    for (handle, mipmap) in MIPMAPS.entries() {
        if mipmap.context.id == context {
            MIPMAPS.remove(handle);
        }
    }
}

fn create(call: &Call, array: Out<CUarray>, descriptor: In<CUDA_ARRAY_DESCRIPTOR>) -> Outcome {
    let flat = descriptor.read()?;
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: flat.Width,
        Height: flat.Height,
        Depth: 0,
        Format: flat.Format,
        NumChannels: flat.NumChannels,
        Flags: 0,
    };
    make(call, array, descriptor)
}

fn create_3d(call: &Call, array: Out<CUarray>, descriptor: In<CUDA_ARRAY3D_DESCRIPTOR>) -> Outcome {
    make(call, array, descriptor.read()?)
}

fn make(call: &Call, array: Out<CUarray>, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Outcome {
    let context = call.context()?;
    let place = array.required()?;
    let made = Array::new(&context, descriptor, None)?;
    let handle = ARRAYS.reserve();
    ARRAYS.insert(handle, Arc::new(made));
    place.set(to_c(handle));
    Ok(())
}

/// Waits for all work, as `cuMemFree` does: some of it may use the array.
fn destroy(call: &Call, array: CUarray) -> Outcome {
    let (state, known) = (call.healthy()?, call.array(array)?);
    if known.level_of.is_some() {
        return Err(INVALID_HANDLE);
    }
    synchronize_all();
    if ARRAYS.remove(array.addr()).is_some() {
        known.free(state);
    }
    Ok(())
}

fn get_descriptor(call: &Call, descriptor: Out<CUDA_ARRAY_DESCRIPTOR>, array: CUarray) -> Outcome {
    let (place, known) = (descriptor.required()?, call.array(array)?);
    let whole = known.descriptor;
    if whole.Depth != 0 || whole.Flags & CUDA_ARRAY3D_LAYERED != 0 {
        return Err(INVALID_VALUE);
    }
    place.set(CUDA_ARRAY_DESCRIPTOR {
        Width: whole.Width,
        Height: whole.Height,
        Format: whole.Format,
        NumChannels: whole.NumChannels,
    });
    Ok(())
}

fn get_descriptor_3d(call: &Call, descriptor: Out<CUDA_ARRAY3D_DESCRIPTOR>, array: CUarray) -> Outcome {
    descriptor.required()?.set(call.array(array)?.descriptor);
    Ok(())
}
