//! Memory that is exported by descriptor. Two processes that share it are in `tests/processes.rs` of the workspace.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null_mut, without_provenance_mut};
use support::*;

const BYTES: usize = 2 << 20;
const DESCRIPTOR: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const NONE: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
const FABRIC: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_FABRIC;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn properties(kinds: CUmemAllocationHandleType) -> CUmemAllocationProp {
    let mut properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: kinds,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties
}

fn created(cuda: &Driver, kinds: CUmemAllocationHandleType) -> u64 {
    let mut handle = 0;
    ok(unsafe { cuda.cuMemCreate(&mut handle, BYTES, &properties(kinds), 0) });
    handle
}

/// Where the memory of a handle is seen.
fn mapped(cuda: &Driver, handle: u64) -> CUdeviceptr {
    let mut address = 0;
    let access = CUmemAccessDesc {
        location: properties(NONE).location,
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    unsafe {
        ok(cuda.cuMemAddressReserve(&mut address, BYTES, 0, 0, 0));
        ok(cuda.cuMemMap(address, BYTES, 0, handle, 0));
        ok(cuda.cuMemSetAccess(address, BYTES, &access, 1));
    }
    address
}

fn unmap(cuda: &Driver, address: CUdeviceptr) {
    ok(unsafe { cuda.cuMemUnmap(address, BYTES) });
    ok(unsafe { cuda.cuMemAddressFree(address, BYTES) });
}

fn exported(cuda: &Driver, handle: u64) -> OwnedFd {
    let mut descriptor = -1_i32;
    ok(unsafe { cuda.cuMemExportToShareableHandle(argument(&mut descriptor), handle, DESCRIPTOR, 0) });
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn import(cuda: &Driver, descriptor: i32) -> Result<u64, CUresult> {
    let mut handle = 0;
    let number = without_provenance_mut(descriptor as usize);
    match unsafe { cuda.cuMemImportFromShareableHandle(&mut handle, number, DESCRIPTOR) } {
        CUresult::SUCCESS => Ok(handle),
        code => Err(code),
    }
}

#[test]
fn memory_is_imported_by_its_descriptor() {
    let (cuda, _) = with_own_context();
    let mut supported = 0;
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    ok(unsafe { cuda.cuDeviceGetAttribute(&mut supported, attribute, 0) });
    assert_eq!(supported, 1);
    let first = created(&cuda, DESCRIPTOR);
    let descriptor = exported(&cuda, first);
    let second = import(&cuda, descriptor.as_raw_fd()).unwrap();
    assert_ne!(first, second);
    // The memory is there as long as anyone has it.
    drop(descriptor);
    let (here, there) = (mapped(&cuda, first), mapped(&cuda, second));
    assert_eq!(read(&cuda, there, 8), [0; 8]);
    write(&cuda, here, &[1, 2, 3, 4]);
    let add = function(&cuda, load(&cuda, KERNELS), "add");
    let (mut target, mut number) = (there, 1_u32);
    ok(launch(&cuda, add, null_mut(), &mut [argument(&mut target), argument(&mut number)]));
    assert_eq!(read(&cuda, here, 4), [2, 2, 3, 4]);
    ok(unsafe { cuda.cuMemRelease(first) });
    unmap(&cuda, here);
    assert_eq!(read(&cuda, there, 4), [2, 2, 3, 4]);
    let mut told = CUmemAllocationProp::default();
    ok(unsafe { cuda.cuMemGetAllocationPropertiesFromHandle(&mut told, second) });
    assert_eq!(told.requestedHandleTypes, DESCRIPTOR);
    ok(unsafe { cuda.cuMemRelease(second) });
    unmap(&cuda, there);
}

#[test]
fn what_was_not_made_for_it_is_not_shared() {
    let (cuda, _) = with_own_context();
    let (own, mut place) = (created(&cuda, NONE), -1_i32);
    let shared = created(&cuda, DESCRIPTOR);
    let place = argument(&mut place);
    unsafe {
        assert_eq!(cuda.cuMemExportToShareableHandle(place, own, DESCRIPTOR, 0), INVALID_VALUE);
        assert_eq!(cuda.cuMemExportToShareableHandle(place, shared, NONE, 0), INVALID_VALUE);
        assert_eq!(cuda.cuMemExportToShareableHandle(place, shared, DESCRIPTOR, 1), INVALID_VALUE);
        assert_eq!(cuda.cuMemExportToShareableHandle(null_mut(), shared, DESCRIPTOR, 0), INVALID_VALUE);
        assert_eq!(cuda.cuMemExportToShareableHandle(place, 64, DESCRIPTOR, 0), INVALID_VALUE);
        let code = cuda.cuMemExportToShareableHandle(place, shared, FABRIC, 0);
        assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        let mut handle = 0;
        let code = cuda.cuMemCreate(&mut handle, BYTES, &properties(FABRIC), 0);
        assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        ok(cuda.cuMemRelease(own));
        ok(cuda.cuMemRelease(shared));
    }
    // Any other file is none of ours, and could shrink.
    let file = File::open("/proc/self/exe").unwrap();
    assert_eq!(import(&cuda, file.as_raw_fd()), Err(INVALID_VALUE));
    assert_eq!(import(&cuda, i32::MAX), Err(INVALID_VALUE));
}

/// A file has the name that the kernel gives memory without one, if whoever may write at the root makes it so.
#[test]
fn a_file_that_can_shrink_is_not_taken_by_its_name() {
    let (cuda, _) = with_own_context();
    let path = "/memfd:cuda-emulator device 0";
    let Ok(file) = File::options().read(true).write(true).create_new(true).open(path) else {
        return skip::skipped("no file can be made at the root");
    };
    std::fs::remove_file(path).unwrap();
    file.set_len(BYTES as u64).unwrap();
    assert_eq!(import(&cuda, file.as_raw_fd()), Err(INVALID_VALUE));
}
