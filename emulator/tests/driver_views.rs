//! Textures of a part of an array, or of its bytes in another format: what an H200 answered.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;

/// Reads the first element of layers 0 to 3, or of levels 0 to 3.
const READ: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .visible .entry layers(.param .u64 texture, .param .u64 out) {\n\
    .reg .b32 %r<8>, %f; .reg .b64 %d<4>; ld.param.u64 %d0, [texture]; ld.param.u64 %d1, [out];\n\
    mov.u32 %r0, %tid.x; mov.b32 %f, 0f3f000000; mul.wide.u32 %d2, %r0, 16; add.u64 %d1, %d1, %d2;\n\
    tex.a2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%r0, %f, %f, %f}];\n\
    st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4}; ret; }\n\
    .visible .entry levels(.param .u64 texture, .param .u64 out) {\n\
    .reg .b32 %r<8>, %f, %l; .reg .b64 %d<4>; ld.param.u64 %d0, [texture]; ld.param.u64 %d1, [out];\n\
    mov.u32 %r0, %tid.x; mov.b32 %f, 0f00000000; cvt.rn.f32.u32 %l, %r0; mul.wide.u32 %d2, %r0, 16; add.u64 %d1, %d1, %d2;\n\
    tex.level.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d0, {%f, %f}], %l;\n\
    st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4}; ret; }\n";

/// Numbers of the driver's header.
const UINT_4X8: u32 = 3;
const UINT_2X16: u32 = 8;
const FLOAT_4X32: u32 = 24;
const UNSIGNED_BC1: u32 = 25;

struct Asked {
    cuda: std::sync::Arc<Driver>,
    resource: CUDA_RESOURCE_DESC,
    kernel: CUfunction,
}

impl Asked {
    /// The code of a view, and what its texture reads.
    fn read(
        &self,
        format: u32,
        size: [usize; 3],
        levels: [u32; 2],
        layers: [u32; 2],
    ) -> Result<[[u32; 4]; 4], CUresult> {
        let cuda = &self.cuda;
        let view = CUDA_RESOURCE_VIEW_DESC {
            format: CUresourceViewFormat(format as _),
            width: size[0],
            height: size[1],
            depth: size[2],
            firstMipmapLevel: levels[0],
            lastMipmapLevel: levels[1],
            firstLayer: layers[0],
            lastLayer: layers[1],
            ..CUDA_RESOURCE_VIEW_DESC::default()
        };
        let normalized = if layers == [0, 0] && size[2] == 0 { CU_TRSF_NORMALIZED_COORDINATES } else { 0 };
        let descriptor = CUDA_TEXTURE_DESC {
            addressMode: [CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP; 3],
            flags: CU_TRSF_READ_AS_INTEGER | normalized,
            maxMipmapLevelClamp: 99.0,
            ..CUDA_TEXTURE_DESC::default()
        };
        let mut texture = 0;
        match unsafe { cuda.cuTexObjectCreate(&mut texture, &self.resource, &descriptor, &view) } {
            CUresult::SUCCESS => {}
            code => return Err(code),
        }
        let mut said = CUDA_RESOURCE_VIEW_DESC::default();
        ok(unsafe { cuda.cuTexObjectGetResourceViewDesc(&mut said, texture) });
        assert_eq!((said.width, said.lastMipmapLevel, said.lastLayer), (size[0], levels[1], layers[1]));
        let mut out = alloc(cuda, 64);
        let mut arguments = [argument(&mut texture), argument(&mut out)];
        ok(unsafe {
            cuda.cuLaunchKernel(
                self.kernel,
                1,
                1,
                1,
                4,
                1,
                1,
                0,
                null_mut(),
                arguments.as_mut_ptr(),
                null_mut(),
            )
        });
        let bytes = read(cuda, out, 64);
        let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
        Ok(std::array::from_fn(|row| std::array::from_fn(|channel| word(4 * row + channel))))
    }
}

fn bytes(size: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: size[0],
        Height: size[1],
        Depth: size[2],
        Format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        NumChannels: 4,
        Flags: flags,
    }
}

/// Fills layer `z` of an array with one element.
fn fill(cuda: &Driver, array: CUarray, [width, height]: [usize; 2], z: usize, element: [u8; 4]) {
    let data = element.repeat(width * height);
    let copy = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: data.as_ptr().cast(),
        srcPitch: 4 * width,
        srcHeight: height,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: array,
        dstZ: z,
        WidthInBytes: 4 * width,
        Height: height,
        Depth: 1,
        ..CUDA_MEMCPY3D::default()
    };
    ok(unsafe { cuda.cuMemcpy3D(&copy) });
}

#[test]
fn layers_and_formats() {
    let (cuda, _) = with_own_context();
    let mut array = null_mut();
    ok(unsafe { cuda.cuArray3DCreate(&mut array, &bytes([16, 8, 4], CUDA_ARRAY3D_LAYERED)) });
    for z in 0..4 {
        fill(&cuda, array, [16, 8], z, [z as u8, 1, 2, 3]);
    }
    let kernel = function(&cuda, load(&cuda, READ), "layers");
    let resource = CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
        flags: 0,
    };
    let asked = Asked { cuda, resource, kernel };
    let size = [16, 8, 4];
    let layers =
        |first, last| asked.read(UINT_4X8, size, [0, 0], [first, last]).map(|rows| rows.map(|row| row[0]));
    assert_eq!(layers(0, 3), Ok([0, 1, 2, 3]));
    assert_eq!(layers(0, 0), Ok([0; 4]));
    assert_eq!(layers(1, 2), Ok([1, 2, 2, 2]));
    assert_eq!(layers(1, 9), Ok([1, 2, 3, 3]));
    assert_eq!(layers(2, 1), Err(INVALID_VALUE));
    // An H200 reads zeros there.
    assert_eq!(layers(4, 4), Err(NOT_SUPPORTED));
    let halves = asked.read(UINT_2X16, size, [0, 0], [0, 3]).unwrap();
    assert_eq!(halves[2][..2], [0x102, 0x302]);
    let format = |format| asked.read(format, size, [0, 0], [0, 3]).err();
    assert_eq!(format(0), Some(INVALID_VALUE));
    assert_eq!(format(FLOAT_4X32), Some(INVALID_VALUE));
    assert_eq!(format(UNSIGNED_BC1), Some(NOT_SUPPORTED));
    assert_eq!(format(35), Some(INVALID_VALUE));
    for size in [[8, 8, 4], [16, 4, 4], [16, 8, 2], [16, 8, 0]] {
        assert_eq!(asked.read(UINT_4X8, size, [0, 0], [0, 3]), Err(INVALID_VALUE), "{size:?}");
    }
    // Levels are those of mipmapped arrays.
    assert_eq!(asked.read(UINT_4X8, size, [0, 1], [0, 3]), Err(INVALID_VALUE));
}

#[test]
fn levels() {
    let (cuda, _) = with_own_context();
    let mut mipmap = null_mut();
    ok(unsafe { cuda.cuMipmappedArrayCreate(&mut mipmap, &bytes([32, 32, 0], 0), 4) });
    for level in 0..4 {
        let mut array = null_mut();
        ok(unsafe { cuda.cuMipmappedArrayGetLevel(&mut array, mipmap, level) });
        fill(&cuda, array, [32 >> level; 2], 0, [level as u8 + 1, 0, 0, 0]);
    }
    let kernel = function(&cuda, load(&cuda, READ), "levels");
    let resource = CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
        res: CUDA_RESOURCE_DESC_res { mipmap: CUDA_RESOURCE_DESC_res_mipmap { hMipmappedArray: mipmap } },
        flags: 0,
    };
    let asked = Asked { cuda, resource, kernel };
    let levels = |first, last| {
        asked.read(UINT_4X8, [32, 32, 0], [first, last], [0, 0]).map(|rows| rows.map(|row| row[0]))
    };
    assert_eq!(levels(0, 3), Ok([1, 2, 3, 4]));
    assert_eq!(levels(0, 0), Ok([1; 4]));
    assert_eq!(levels(1, 2), Ok([2, 3, 3, 3]));
    assert_eq!(levels(2, 9), Ok([3, 4, 4, 4]));
    assert_eq!(levels(4, 4), Ok([4; 4]));
    assert_eq!(levels(2, 1), Err(INVALID_VALUE));
    // The sizes are those of the first level of the array, not of the view.
    assert_eq!(asked.read(UINT_4X8, [16, 16, 0], [1, 3], [0, 0]), Err(INVALID_VALUE));
    // Layers are those of layered arrays.
    assert_eq!(asked.read(UINT_4X8, [32, 32, 0], [0, 3], [0, 1]), Err(INVALID_VALUE));
}

#[test]
fn views_of_linear_memory_are_not_looked_at() {
    let (cuda, _) = with_own_context();
    let linear = CUDA_RESOURCE_DESC_res_linear {
        devPtr: alloc(&cuda, 4096),
        format: CUarray_format::CU_AD_FORMAT_FLOAT,
        numChannels: 1,
        sizeInBytes: 256,
    };
    let resource = CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_LINEAR,
        res: CUDA_RESOURCE_DESC_res { linear },
        flags: 0,
    };
    let (mut texture, descriptor) = (0, CUDA_TEXTURE_DESC::default());
    let view = CUDA_RESOURCE_VIEW_DESC { width: 7, ..CUDA_RESOURCE_VIEW_DESC::default() };
    ok(unsafe { cuda.cuTexObjectCreate(&mut texture, &resource, &descriptor, &view) });
    let mut said = view;
    ok(unsafe { cuda.cuTexObjectGetResourceViewDesc(&mut said, texture) });
    assert_eq!(said.width, 0);
    assert_eq!(unsafe { cuda.cuTexObjectGetResourceViewDesc(null_mut(), texture) }, INVALID_VALUE);
    ok(unsafe { cuda.cuTexObjectDestroy(texture) });
    assert_eq!(unsafe { cuda.cuTexObjectGetResourceViewDesc(&mut said, texture) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuTexObjectCreate(null_mut(), &resource, &descriptor, null()) }, INVALID_VALUE);
}
