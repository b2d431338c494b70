//! Arrays, mipmaps, texture and surface objects, copies of rows: the codes of wrong arguments, and what a context takes
//! with it.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

fn floats([width, height, depth]: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: CUarray_format::CU_AD_FORMAT_FLOAT,
        NumChannels: 1,
        Flags: flags,
    }
}

fn create(cuda: &Driver, descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Result<CUarray, CUresult> {
    let mut array = null_mut();
    match unsafe { cuda.cuArray3DCreate(&mut array, descriptor) } {
        CUresult::SUCCESS => Ok(array),
        code => Err(code),
    }
}

#[test]
fn descriptors_that_are_none_are_errors() {
    let (cuda, _) = with_own_context();
    let refused = |descriptor| assert_eq!(create(&cuda, &descriptor), Err(INVALID_VALUE), "{descriptor:?}");
    refused(floats([0, 0, 0], 0));
    refused(floats([4, 0, 4], 0));
    refused(floats([1 << 20, 4, 0], 0));
    refused(floats([4, 4, 0], CUDA_ARRAY3D_LAYERED));
    refused(floats([4, 8, 6], CUDA_ARRAY3D_CUBEMAP));
    refused(floats([4, 4, 5], CUDA_ARRAY3D_CUBEMAP));
    refused(floats([4, 4, 4], CUDA_ARRAY3D_TEXTURE_GATHER));
    refused(CUDA_ARRAY3D_DESCRIPTOR { NumChannels: 3, ..floats([4, 4, 0], 0) });
    refused(CUDA_ARRAY3D_DESCRIPTOR { Format: CUarray_format(7), ..floats([4, 4, 0], 0) });
    let sparse = floats([4, 4, 0], CUDA_ARRAY3D_SPARSE);
    assert_eq!(create(&cuda, &sparse), Err(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    assert_eq!(unsafe { cuda.cuArray3DCreate(null_mut(), &floats([4, 4, 0], 0)) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuArray3DCreate(&mut null_mut(), null()) }, INVALID_VALUE);
}

#[test]
fn dead_handles_are_told() {
    let (cuda, _) = with_own_context();
    let array = create(&cuda, &floats([4, 4, 0], CUDA_ARRAY3D_SURFACE_LDST)).unwrap();
    let resource = CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
        flags: 0,
    };
    let (mut texture, mut surface) = (0, 0);
    let descriptor = CUDA_TEXTURE_DESC::default();
    ok(unsafe { cuda.cuTexObjectCreate(&mut texture, &resource, &descriptor, null()) });
    ok(unsafe { cuda.cuSurfObjectCreate(&mut surface, &resource) });
    let mut said = CUDA_RESOURCE_DESC::default();
    ok(unsafe { cuda.cuTexObjectGetResourceDesc(&mut said, texture) });
    assert_eq!(unsafe { said.res.array.hArray }, array);
    assert_eq!(unsafe { cuda.cuTexObjectCreate(null_mut(), &resource, &descriptor, null()) }, INVALID_VALUE);
    ok(unsafe { cuda.cuTexObjectDestroy(texture) });
    assert_eq!(unsafe { cuda.cuTexObjectDestroy(texture) }, INVALID_VALUE);
    ok(unsafe { cuda.cuSurfObjectDestroy(surface) });
    assert_eq!(unsafe { cuda.cuSurfObjectDestroy(surface) }, INVALID_VALUE);
    ok(unsafe { cuda.cuArrayDestroy(array) });
    assert_eq!(unsafe { cuda.cuArrayDestroy(array) }, INVALID_HANDLE);
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    assert_eq!(unsafe { cuda.cuArray3DGetDescriptor(&mut descriptor, array) }, INVALID_HANDLE);
    assert_eq!(unsafe { cuda.cuArrayDestroy(null_mut()) }, INVALID_HANDLE);
}

#[test]
fn bytes_of_arrays() {
    let (cuda, _) = with_own_context();
    let array = create(&cuda, &floats([16, 0, 0], 0)).unwrap();
    let (data, memory) = ((0..64).collect::<Vec<u8>>(), alloc(&cuda, 64));
    ok(unsafe { cuda.cuMemcpyHtoA(array, 0, data.as_ptr().cast(), 64) });
    ok(unsafe { cuda.cuMemcpyAtoD(memory, array, 16, 48) });
    assert_eq!(read(&cuda, memory, 48), data[16..]);
    ok(unsafe { cuda.cuMemcpyDtoA(array, 0, memory, 16) });
    let other = create(&cuda, &floats([16, 0, 0], 0)).unwrap();
    ok(unsafe { cuda.cuMemcpyAtoA(other, 32, array, 0, 32) });
    let mut back = [0_u8; 32];
    ok(unsafe { cuda.cuMemcpyAtoH(back.as_mut_ptr().cast(), other, 32, 32) });
    assert_eq!((&back[..16], &back[16..]), (&data[16..32], &data[16..32]));
    assert_eq!(unsafe { cuda.cuMemcpyHtoA(array, 32, data.as_ptr().cast(), 33) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuMemcpyAtoH(null_mut(), array, 0, 4) }, INVALID_VALUE);
}

/// A copy of `width` bytes and `height` rows from device memory to an array.
fn rows(array: CUarray, memory: CUdeviceptr, width: usize, height: usize) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: memory,
        srcPitch: width,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY,
        dstArray: array,
        WidthInBytes: width,
        Height: height,
        ..CUDA_MEMCPY2D::default()
    }
}

#[test]
fn regions_that_do_not_fit_are_errors() {
    let (cuda, _) = with_own_context();
    let (array, memory) = (create(&cuda, &floats([4, 4, 0], 0)).unwrap(), alloc(&cuda, 64));
    let copy = |copy: CUDA_MEMCPY2D| unsafe { cuda.cuMemcpy2D(&copy) };
    let good = rows(array, memory, 16, 4);
    ok(copy(good));
    ok(copy(CUDA_MEMCPY2D { Height: 0, ..good }));
    assert_eq!(copy(CUDA_MEMCPY2D { dstXInBytes: 4, ..good }), INVALID_VALUE);
    assert_eq!(copy(CUDA_MEMCPY2D { dstY: 1, ..good }), INVALID_VALUE);
    assert_eq!(copy(CUDA_MEMCPY2D { WidthInBytes: 15, ..good }), INVALID_VALUE, "cuts an element");
    assert_eq!(copy(CUDA_MEMCPY2D { srcPitch: 12, ..good }), INVALID_VALUE);
    assert_eq!(copy(CUDA_MEMCPY2D { srcPitch: 20, ..good }), INVALID_VALUE, "past the memory");
    assert_eq!(copy(CUDA_MEMCPY2D { srcMemoryType: CUmemorytype(9), ..good }), INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuMemcpy2D(null()) }, INVALID_VALUE);
}

#[test]
fn a_captured_copy_of_rows_is_done_by_the_graph() {
    let (cuda, _) = with_own_context();
    let stream = stream(&cuda, 1);
    let (array, memory) = (create(&cuda, &floats([4, 4, 0], 0)).unwrap(), alloc(&cuda, 64));
    write(&cuda, memory, &[7; 64]);
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { cuda.cuStreamBeginCapture(stream, mode) });
    ok(unsafe { cuda.cuMemcpy2DAsync(&rows(array, memory, 16, 4), stream) });
    let (mut graph, mut exec, mut back) = (null_mut(), null_mut(), [0_u8; 64]);
    ok(unsafe { cuda.cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
    ok(unsafe { cuda.cuMemcpyAtoH(back.as_mut_ptr().cast(), array, 0, 64) });
    assert_eq!(back, [0; 64], "not yet");
    ok(unsafe { cuda.cuGraphLaunch(exec, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    ok(unsafe { cuda.cuMemcpyAtoH(back.as_mut_ptr().cast(), array, 0, 64) });
    assert_eq!(back, [7; 64]);
}

#[test]
fn a_context_takes_its_arrays_with_it() {
    let (cuda, _) = with_context();
    let free = || {
        let (mut free, mut total) = (0, 0);
        ok(unsafe { cuda.cuMemGetInfo(&mut free, &mut total) });
        free
    };
    // Large, so that what other tests of this process allocate meanwhile does not matter.
    let large = floats([16 << 10, 4 << 10, 0], 0);
    let before = free();
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let array = create(&cuda, &large).unwrap();
    let mut mipmap = null_mut();
    ok(unsafe { cuda.cuMipmappedArrayCreate(&mut mipmap, &floats([1 << 10, 1 << 10, 0], 0), 4) });
    assert!(before - free() >= 200 << 20);
    ok(unsafe { cuda.cuCtxDestroy(context) });
    assert!(before.abs_diff(free()) < 200 << 20);
    assert_eq!(unsafe { cuda.cuArrayDestroy(array) }, INVALID_HANDLE);
    assert_eq!(unsafe { cuda.cuMipmappedArrayDestroy(mipmap) }, INVALID_HANDLE);
}
