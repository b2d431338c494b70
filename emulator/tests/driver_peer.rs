//! Two devices: what is separate, what they share, and how one reaches the other's memory.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::{Arc, Once};
use support::*;

const OK: CUresult = CUresult::SUCCESS;

/// The driver with two devices. Every test of this file comes here first.
fn two() -> Arc<Driver> {
    static SET: Once = Once::new();
    SET.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    cuda()
}

/// A context of this test's own on that device, current.
fn own(cuda: &Driver, device: CUdevice) -> CUcontext {
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, device) });
    context
}

#[test]
fn devices_are_told_apart() {
    let cuda = two();
    let mut count = 0;
    ok(unsafe { cuda.cuDeviceGetCount(&mut count) });
    assert_eq!(count, 2);
    let mut uuids = [CUuuid { bytes: [0; 16] }; 2];
    for device in 0..2 {
        ok(unsafe { cuda.cuDeviceGetUuid(&mut uuids[device as usize], device) });
        let (mut text, mut found, mut bus) = ([0; 16], 9, 9);
        ok(unsafe { cuda.cuDeviceGetPCIBusId(text.as_mut_ptr(), 16, device) });
        ok(unsafe { cuda.cuDeviceGetByPCIBusId(&mut found, text.as_ptr()) });
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID;
        ok(unsafe { cuda.cuDeviceGetAttribute(&mut bus, attribute, device) });
        assert_eq!((found, bus), (device, device));
    }
    assert_ne!(uuids[0].bytes, uuids[1].bytes);
    assert_eq!(unsafe { cuda.cuDeviceGet(&mut count, 2) }, CUresult::CUDA_ERROR_INVALID_DEVICE);
}

#[test]
fn primary_contexts_are_counted_apart() {
    let cuda = two();
    let mut contexts = [null_mut(); 2];
    for (context, device) in contexts.iter_mut().zip(0..) {
        ok(unsafe { cuda.cuDevicePrimaryCtxRetain(context, device) });
        let mut told = 9;
        ok(unsafe { cuda.cuCtxGetDevice_v2(&mut told, *context) });
        assert_eq!(told, device);
    }
    assert_ne!(contexts[0], contexts[1]);
    ok(unsafe { cuda.cuDevicePrimaryCtxRelease(1) });
    let (mut flags, mut active) = (0, [9; 2]);
    ok(unsafe { cuda.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active[0]) });
    ok(unsafe { cuda.cuDevicePrimaryCtxGetState(1, &mut flags, &mut active[1]) });
    assert_eq!(active, [1, 0]);
    assert_eq!(unsafe { cuda.cuDevicePrimaryCtxRelease(1) }, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    ok(unsafe { cuda.cuDevicePrimaryCtxRelease(0) });
}

#[test]
fn each_device_has_its_own_bytes() {
    // Other tests allocate too, but nothing near this much.
    const MUCH: usize = 32 << 20;
    let cuda = two();
    let mut free = [[0; 2]; 2];
    let contexts = [own(&cuda, 0), own(&cuda, 1)];
    let mut measure = |index: usize| {
        for (context, free) in contexts.iter().zip(&mut free) {
            ok(unsafe { cuda.cuCtxSetCurrent(*context) });
            ok(unsafe { cuda.cuMemGetInfo(&mut free[index], &mut 0) });
        }
    };
    measure(0);
    let memory = alloc(&cuda, MUCH);
    measure(1);
    assert!(free[1][0] - free[1][1] >= MUCH);
    assert!(free[0][0].abs_diff(free[0][1]) < MUCH / 2);
    let mut ordinal = 9;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    ok(unsafe { cuda.cuPointerGetAttribute(argument(&mut ordinal), attribute, memory) });
    assert_eq!(ordinal, 1);
    ok(unsafe { cuda.cuMemFree(memory) });
}

#[test]
fn peer_access_is_switched_on_and_off_once() {
    let cuda = two();
    let (there, here) = (own(&cuda, 1), own(&cuda, 0));
    let (mut can, mut cannot) = (9, 9);
    ok(unsafe { cuda.cuDeviceCanAccessPeer(&mut can, 0, 1) });
    ok(unsafe { cuda.cuDeviceCanAccessPeer(&mut cannot, 1, 1) });
    assert_eq!((can, cannot), (1, 0));
    let enable = |context, flags| unsafe { cuda.cuCtxEnablePeerAccess(context, flags) };
    let disable = |context| unsafe { cuda.cuCtxDisablePeerAccess(context) };
    assert_eq!(disable(there), CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    assert_eq!(enable(there, 1), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(enable(null_mut(), 0), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    assert_eq!(enable(here, 0), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    assert_eq!(enable(there, 0), OK);
    assert_eq!(enable(there, 0), CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    assert_eq!(disable(there), OK);
    assert_eq!(disable(there), CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

#[test]
fn peer_attributes() {
    let cuda = two();
    let ask = |attribute, device, peer| {
        let mut value = 9;
        let code = unsafe {
            cuda.cuDeviceGetP2PAttribute(&mut value, CUdevice_P2PAttribute(attribute), device, peer)
        };
        (code, value)
    };
    assert_eq!(ask(2, 0, 1), (OK, 1));
    assert_eq!(ask(3, 1, 0), (OK, 1));
    assert_eq!(ask(2, 0, 0).0, CUresult::CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(ask(2, 0, 2).0, CUresult::CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(ask(99, 0, 1).0, CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn copies_need_no_peer_access() {
    let cuda = two();
    let there = own(&cuda, 1);
    let target = alloc(&cuda, 4096);
    let here = own(&cuda, 0);
    let source = alloc(&cuda, 4096);
    let data: Vec<u8> = (0..4096).map(|index| index as u8).collect();
    write(&cuda, source, &data);
    ok(unsafe { cuda.cuMemcpyPeer(target, there, source, here, 2048) });
    let stream = stream(&cuda, 1);
    ok(unsafe { cuda.cuMemcpyPeerAsync(target + 2048, there, source + 2048, here, 2048, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    ok(unsafe { cuda.cuCtxSetCurrent(there) });
    assert_eq!(read(&cuda, target, 4096), data);
    let past = unsafe { cuda.cuMemcpyPeer(target + 1, there, source, here, 4096) };
    assert_eq!(past, CUresult::CUDA_ERROR_INVALID_VALUE);
    let nowhere = unsafe { cuda.cuMemcpyPeer(target, null_mut(), source, here, 4096) };
    assert_eq!(nowhere, CUresult::CUDA_ERROR_INVALID_CONTEXT);
}

/// A kernel of device 0 that stores to memory of device 1.
fn store_across(access: bool) -> (CUresult, Vec<u8>) {
    let cuda = two();
    let there = own(&cuda, 1);
    let mut memory = alloc(&cuda, 4);
    write(&cuda, memory, &[0; 4]);
    own(&cuda, 0);
    if access {
        ok(unsafe { cuda.cuCtxEnablePeerAccess(there, 0) });
    }
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let mut value = 7_u32;
    ok(launch(&cuda, store, null_mut(), &mut [argument(&mut memory), argument(&mut value)]));
    let code = unsafe { cuda.cuCtxSynchronize() };
    let seen = if access { read(&cuda, memory, 4) } else { Vec::new() };
    (code, seen)
}

#[test]
fn a_kernel_reaches_a_peer() {
    assert_eq!(store_across(true), (OK, vec![7, 0, 0, 0]));
}

#[test]
fn without_peer_access_it_faults() {
    // The fault ends CUDA in its process.
    if std::env::var_os("CUDA_LAUNCH_TEST_ACROSS").is_some() {
        assert_eq!(store_across(false).0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert!(on_system() || cuda_emulator::last_fault().unwrap().to_string().contains("no access to"));
        return;
    }
    let output = child("without_peer_access_it_faults", &[("CUDA_LAUNCH_TEST_ACROSS", "1")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
