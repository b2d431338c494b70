//! Pools and mappings of one device that another one is given access to.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::{Arc, Once};
use support::*;

const GRANULARITY: usize = 2 << 20;

/// The driver with two devices, a context of the second one current. Every test of this file comes here first.
fn second() -> Arc<Driver> {
    static SET: Once = Once::new();
    SET.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    let (cuda, mut context) = (cuda(), null_mut());
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 1) });
    cuda
}

fn device(id: i32) -> CUmemLocation {
    CUmemLocation {
        type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id },
    }
}

fn access(id: i32) -> CUmemAccessDesc {
    CUmemAccessDesc { location: device(id), flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE }
}

/// Stores a number at an address, by a kernel of the current context's device.
fn store(cuda: &Driver, mut target: u64, mut number: u32) {
    let store = function(cuda, load(cuda, KERNELS), "store");
    ok(launch(cuda, store, null_mut(), &mut [argument(&mut target), argument(&mut number)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
}

#[test]
fn a_pool_is_opened_to_another_device() {
    let cuda = second();
    let (mut pool, mut before, mut after, mut flags) = (null_mut(), 0, 0, CUmemAccess_flags(9));
    let stream = stream(&cuda, 1);
    let properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: device(0),
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        gpuDirectRDMACapable: 0,
        reserved: [0; 53],
    };
    unsafe {
        ok(cuda.cuMemPoolCreate(&mut pool, &properties));
        ok(cuda.cuMemAllocFromPoolAsync(&mut before, 64, pool, stream));
        ok(cuda.cuMemPoolGetAccess(&mut flags, pool, &mut device(1)));
        assert_eq!(flags, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE);
        ok(cuda.cuMemPoolSetAccess(pool, &access(1), 1));
        ok(cuda.cuMemPoolGetAccess(&mut flags, pool, &mut device(1)));
        assert_eq!(flags, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        ok(cuda.cuMemAllocFromPoolAsync(&mut after, 64, pool, stream));
        // What was allocated before is opened too.
        for (number, address) in [(5_u32, before), (6, after)] {
            store(&cuda, address, number);
            assert_eq!(read(&cuda, address, 4), number.to_ne_bytes());
            ok(cuda.cuMemFreeAsync(address, stream));
        }
        ok(cuda.cuStreamSynchronize(stream));
        ok(cuda.cuMemPoolDestroy(pool));
        // A device's own pool is its own.
        let mut pools = [null_mut(); 2];
        ok(cuda.cuDeviceGetDefaultMemPool(&mut pools[0], 0));
        ok(cuda.cuDeviceGetDefaultMemPool(&mut pools[1], 1));
        assert_ne!(pools[0], pools[1]);
        assert_eq!(cuda.cuDeviceSetMemPool(0, pools[1]), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn a_mapping_is_opened_to_another_device() {
    let cuda = second();
    let (mut address, mut handle, mut flags) = (0, 0, 9);
    let properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: device(0),
        win32HandleMetaData: null_mut(),
        allocFlags: CUmemAllocationProp_allocFlags::default(),
    };
    unsafe {
        ok(cuda.cuMemAddressReserve(&mut address, GRANULARITY, 0, 0, 0));
        ok(cuda.cuMemCreate(&mut handle, GRANULARITY, &properties, 0));
        ok(cuda.cuMemMap(address, GRANULARITY, 0, handle, 0));
        // The device that has the memory is not among those that reach it.
        ok(cuda.cuMemSetAccess(address, GRANULARITY, &access(1), 1));
        ok(cuda.cuMemGetAccess(&mut flags, &device(0), address));
        assert_eq!(flags, 0);
        store(&cuda, address + 4, 77);
        assert_eq!(read(&cuda, address + 4, 4), 77_u32.to_ne_bytes());
        ok(cuda.cuMemUnmap(address, GRANULARITY));
        ok(cuda.cuMemRelease(handle));
        ok(cuda.cuMemAddressFree(address, GRANULARITY));
    }
}
