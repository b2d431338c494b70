//! What copies and fills do to the bytes, and what the queries say about memory.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Instance, InstanceOptions};
use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};
use support::*;

fn numbers(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 7 + index / 256) as u8).collect()
}

#[test]
fn bytes_come_back() {
    let (cuda, _) = with_own_context();
    for bytes in [1, 3, 255, 256, 4097, 65_536, 65_537, 1 << 20] {
        if cfg!(miri) && bytes > 256 {
            break;
        }
        let (memory, data) = (alloc(&cuda, bytes), numbers(bytes));
        write(&cuda, memory, &data);
        assert_eq!(read(&cuda, memory, bytes), data);
        if bytes > 3 {
            assert_eq!(read(&cuda, memory + 3, bytes - 3), data[3..]);
        }
        ok(unsafe { cuda.cuMemFree(memory) });
    }
}

#[test]
fn every_kind_of_copy() {
    let (cuda, _) = with_own_context();
    let stream = stream(&cuda, 1);
    for bytes in [1000, 200_000] {
        let data = numbers(bytes);
        let (a, b) = (alloc(&cuda, bytes), alloc(&cuda, bytes));
        let (mut pinned_in, mut pinned_out) = (null_mut(), null_mut());
        ok(unsafe { cuda.cuMemAllocHost(&mut pinned_in, bytes) });
        ok(unsafe { cuda.cuMemHostAlloc(&mut pinned_out, bytes, 0) });
        unsafe { pinned_in.cast::<u8>().copy_from(data.as_ptr(), bytes) };
        ok(unsafe { cuda.cuMemcpyHtoDAsync(a, pinned_in, bytes, stream) });
        ok(unsafe { cuda.cuMemcpyDtoDAsync(b, a, bytes, stream) });
        ok(unsafe { cuda.cuMemcpyDtoHAsync(pinned_out, b, bytes, stream) });
        ok(unsafe { cuda.cuStreamSynchronize(stream) });
        assert_eq!(unsafe { std::slice::from_raw_parts(pinned_out.cast::<u8>(), bytes) }, data);
        // By generic addresses, between host ranges too.
        let mut host = vec![0_u8; bytes];
        let address = host.as_mut_ptr().expose_provenance() as u64;
        ok(unsafe { cuda.cuMemcpyAsync(address, b, bytes, stream) });
        assert_eq!(host, data);
        let mut other = vec![0_u8; bytes];
        ok(unsafe { cuda.cuMemcpy(other.as_mut_ptr().expose_provenance() as u64, address, bytes) });
        assert_eq!(other, data);
        for pointer in [pinned_in, pinned_out] {
            ok(unsafe { cuda.cuMemFreeHost(pointer) });
        }
        for memory in [a, b] {
            ok(unsafe { cuda.cuMemFree(memory) });
        }
    }
}

#[test]
fn overlapping_ranges_are_copied_as_through_a_buffer() {
    let (cuda, _) = with_own_context();
    let bytes = if cfg!(miri) { 500 } else { 9000 };
    let (memory, data) = (alloc(&cuda, 10_000), numbers(10_000));
    for (target, source) in [(0_u64, 16_u64), (16, 0)] {
        write(&cuda, memory, &data);
        ok(unsafe { cuda.cuMemcpyDtoD(memory + target, memory + source, bytes) });
        let expected = &data[source as usize..source as usize + bytes];
        assert_eq!(read(&cuda, memory + target, bytes), expected);
    }
}

#[test]
fn fills() {
    let (cuda, _) = with_own_context();
    let (stream, memory) = (stream(&cuda, 0), alloc(&cuda, 1024));
    ok(unsafe { cuda.cuMemsetD8(memory, 0x11, 1024) });
    ok(unsafe { cuda.cuMemsetD16(memory + 2, 0x2233, 3) });
    ok(unsafe { cuda.cuMemsetD32Async(memory + 16, 0x4455_6677, 2, stream) });
    // Rows of 4 bytes, 64 bytes apart.
    ok(unsafe { cuda.cuMemsetD2D8(memory + 256, 64, 0x88, 4, 3) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    let mut expected = vec![0x11; 1024];
    expected[2..8].copy_from_slice(&[0x33, 0x22, 0x33, 0x22, 0x33, 0x22]);
    expected[16..24].copy_from_slice(&[0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55, 0x44]);
    for row in 0..3 {
        expected[256 + 64 * row..][..4].fill(0x88);
    }
    assert_eq!(read(&cuda, memory, 1024), expected);
    if cfg!(miri) {
        return skip::skipped("large memory takes Miri too long");
    }
    // Larger than what is filled at once.
    let big = alloc(&cuda, 3 << 20);
    ok(unsafe { cuda.cuMemsetD32Async(big, 0x0102_0304, 3 << 18, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    assert!(read(&cuda, big, 3 << 20).chunks(4).all(|word| word == [4, 3, 2, 1]));
}

#[test]
fn memory_is_counted() {
    let (instance, mut context) = (InstanceOptions::new().memory(64 << 20).start().unwrap(), null_mut());
    let cuda = instance.driver();
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let info = || {
        let (mut free, mut total) = (0, 0);
        ok(unsafe { cuda.cuMemGetInfo(&mut free, &mut total) });
        (free, total)
    };
    let mut total = 0;
    ok(unsafe { cuda.cuDeviceTotalMem(&mut total, 0) });
    assert_eq!((total, info()), (64 << 20, (64 << 20, 64 << 20)));
    let memory = alloc(&cuda, 40 << 20);
    assert_eq!(info().0, 24 << 20);
    assert_eq!(unsafe { cuda.cuMemAlloc(&mut 0, 40 << 20) }, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    ok(unsafe { cuda.cuMemFree(memory) });
    assert_eq!(info().0, 64 << 20);
    // A context takes its memory with it, and so does a module.
    alloc(&cuda, 8 << 20);
    load(&cuda, KERNELS);
    ok(unsafe { cuda.cuCtxDestroy(context) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    assert_eq!(info().0, 64 << 20);
}

#[test]
fn a_variable_says_how_much_memory_there_is() {
    const VARIABLE: &str = "CUDA_LAUNCH_EMULATOR_MEMORY";
    if std::env::var(VARIABLE).as_deref() != Ok("64M") {
        let output = child("a_variable_says_how_much_memory_there_is", &[(VARIABLE, "64M")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    // An instance's, too, unless the program says otherwise.
    for cuda in [driver(), Instance::new().unwrap().driver()] {
        let mut total = 0;
        ok(unsafe { cuda.cuInit(0) });
        ok(unsafe { cuda.cuDeviceTotalMem(&mut total, 0) });
        assert_eq!(total, 64 << 20);
    }
}

#[test]
fn a_host_range_is_pinned_while_it_is_registered() {
    let (cuda, _) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 64));
    let mut host = vec![1_u8; 64];
    let pointer = host.as_mut_ptr();
    ok(unsafe { cuda.cuMemHostRegister(pointer.cast(), 64, 0) });
    let held = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuMemcpyHtoDAsync(memory, pointer.cast(), 64, stream) });
    unsafe { pointer.write_bytes(2, 64) };
    drop(held);
    // Waits for the copy.
    ok(unsafe { cuda.cuMemHostUnregister(pointer.cast()) });
    assert_eq!(read(&cuda, memory, 64), [2; 64]);
}

#[test]
fn the_device_is_an_h200_by_another_name() {
    let cuda = cuda();
    let mut name = [0_u8; 64];
    ok(unsafe { cuda.cuDeviceGetName(name.as_mut_ptr().cast(), 64, 0) });
    let name = std::ffi::CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap();
    assert_eq!(name, "cuda-launch emulator (CPU)");
    let attribute = |id| {
        let mut value = -1;
        ok(unsafe { cuda.cuDeviceGetAttribute(&mut value, id, 0) });
        value
    };
    use CUdevice_attribute as A;
    assert_eq!(attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
    assert_eq!(attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
    assert_eq!(attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 232_448);
    assert_eq!(attribute(A::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 1);
    assert_eq!(attribute(A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1);
    let mut properties = CUdevprop::default();
    ok(unsafe { cuda.cuDeviceGetProperties(&mut properties, 0) });
    assert_eq!((properties.maxThreadsPerBlock, properties.SIMDWidth), (1024, 32));
}

/// It has its address for kernels already, and its bytes one owner.
#[test]
fn managed_memory_is_not_registered() {
    let (cuda, _) = with_context();
    let mut managed = 0;
    ok(unsafe { cuda.cuMemAllocManaged(&mut managed, 4096, CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0) });
    let at = |offset: usize| std::ptr::with_exposed_provenance_mut::<c_void>(managed as usize + offset);
    for (offset, bytes) in [(0, 4096), (0, 1), (4095, 1), (8, 100)] {
        let code = unsafe { cuda.cuMemHostRegister(at(offset), bytes, 0) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE, "{bytes} bytes at {offset}");
    }
    ok(unsafe { cuda.cuMemFree(managed) });
}

/// `malloc` and `free` of kernels: the heap is the context's, its size is set before, and the host does not see what is in it.
#[test]
fn kernels_allocate_from_a_heap() {
    const HEAP: CUlimit = CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE;
    let (cuda, context) = with_own_context();
    let mut limit = 0;
    ok(unsafe { cuda.cuCtxGetLimit(&mut limit, HEAP) });
    assert_eq!(limit, 8 << 20);
    ok(unsafe { cuda.cuCtxSetLimit(HEAP, 4 << 20) });
    let module = load(&cuda, include_str!("../../tests/kernels/heap.ptx"));
    let [build, consume, exhaust] = ["build", "consume", "exhaust"].map(|name| function(&cuda, module, name));
    let (mut lists, mut sums) = (0, 0);
    ok(unsafe { cuda.cuMemAlloc(&mut lists, 64 * 8) });
    ok(unsafe { cuda.cuMemAlloc(&mut sums, 64 * 4) });
    let launch = |kernel, blocks, threads, parameters: &mut [*mut c_void]| unsafe {
        let parameters = parameters.as_mut_ptr();
        cuda.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, null_mut(), parameters, null_mut())
    };
    let [a, b] = [from_mut(&mut lists).cast(), from_mut(&mut sums).cast()];
    ok(launch(build, 2, 32, &mut [a]));
    assert_eq!(unsafe { cuda.cuCtxSetLimit(HEAP, 8 << 20) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(unsafe { cuda.cuCtxGetLimit(&mut limit, HEAP) });
    assert_eq!(limit, 4 << 20);
    let mut addresses = [0u64; 64];
    ok(unsafe { cuda.cuMemcpyDtoH(addresses.as_mut_ptr().cast(), lists, 64 * 8) });
    assert!(addresses[0] == 0 && addresses[1..].iter().all(|address| *address != 0));
    assert_eq!(unsafe { cuda.cuMemFree(addresses[1]) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(launch(consume, 2, 32, &mut [a, b]));
    let mut found = [0u32; 64];
    ok(unsafe { cuda.cuMemcpyDtoH(found.as_mut_ptr().cast(), sums, 64 * 4) });
    let expected = |n: u32| (1..=n).fold(0u32, |sum, value| sum.wrapping_mul(3).wrapping_add(value));
    assert_eq!(found.to_vec(), (0..64).map(expected).collect::<Vec<u32>>());
    let mut bytes = 1u64 << 20;
    ok(launch(exhaust, 1, 1, &mut [from_mut(&mut bytes).cast(), b]));
    ok(unsafe { cuda.cuMemcpyDtoH(found.as_mut_ptr().cast(), sums, 4) });
    // A GPU has less than that: it keeps account inside the heap.
    assert!(found[0] == 4 || on_system() && (1..4).contains(&found[0]), "{}", found[0]);
    ok(unsafe { cuda.cuCtxDestroy(context) });
}
