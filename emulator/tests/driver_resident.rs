//! Memory is taken from the machine when it is used: what a process has resident grows by what it writes.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use support::*;

/// Bytes of each allocation.
const LARGE: usize = 512 << 20;

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// In a process of its own, with that much memory on the device and those checks.
fn alone(test: &str, checks: &str) {
    let variables = [
        ("CUDA_LAUNCH_EMULATOR_MEMORY", "16G"),
        ("CUDA_LAUNCH_EMULATOR_CHECK", checks),
        ("CUDA_LAUNCH_TEST_RESIDENT", "1"),
    ];
    let output = child(test, &variables);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_nobody_used_is_not_there() {
    if std::env::var_os("CUDA_LAUNCH_TEST_RESIDENT").is_none() {
        alone("what_nobody_used_is_not_there", "");
        return alone("what_nobody_used_is_not_there", "init");
    }
    let (cuda, _) = with_context();
    let own = stream(&cuda, 0);
    let before = resident();
    let (mut device, mut managed, mut pooled, mut virtual_memory) = (0, 0, 0, 0);
    let mut host = null_mut();
    let location =
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ..CUmemLocation::default() };
    let physical = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        location,
        ..CUmemAllocationProp::default()
    };
    let text =
        format!(".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b8 large[{LARGE}];\n");
    unsafe {
        ok(cuda.cuMemAlloc(&mut device, LARGE));
        ok(cuda.cuMemAllocManaged(&mut managed, LARGE, 1));
        ok(cuda.cuMemAllocHost(&mut host, LARGE));
        ok(cuda.cuMemAllocAsync(&mut pooled, LARGE, own));
        ok(cuda.cuMemCreate(&mut virtual_memory, LARGE, &physical, 0));
    }
    let module = load(&cuda, &text);
    let used = resident() - before;
    // The checks keep a bit for each byte that is written, and a variable of a module counts as written.
    assert!(used < 128 << 20, "{used} bytes");
    // It is there all the same.
    for address in [device, managed, pooled] {
        let last = address + LARGE as u64 - 4;
        write(&cuda, last, &[1, 2, 3, 4]);
        assert_eq!(read(&cuda, last, 4), [1, 2, 3, 4]);
        assert_eq!(address % 256, 0);
    }
    assert_eq!(host.addr() % 4096, 0);
    unsafe {
        ok(cuda.cuStreamSynchronize(own));
        ok(cuda.cuMemFree(device));
        ok(cuda.cuMemFree(managed));
        ok(cuda.cuMemFreeHost(host));
        ok(cuda.cuMemFreeAsync(pooled, own));
        ok(cuda.cuMemRelease(virtual_memory));
        ok(cuda.cuModuleUnload(module));
    }
}
