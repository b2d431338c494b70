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

/// The most that this process had in memory at any time.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<usize>().unwrap() * 1024
}

/// A module of so many bytes, of kernels as compilers write them, each of about 6 KB.
fn large_module(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 10_000);
    text += ".version 8.0\n.target sm_90\n.address_size 64\n";
    let mut number = 0;
    while text.len() < bytes {
        text += &format!(
            ".visible .entry _Z6kernel{number}Pfi(\n\t.param .u64 _Z6kernel{number}Pfi_param_0,\n\t.param .u32 _Z6kernel{number}Pfi_param_1\n)\n{{\n\
             \t.reg .pred \t%p<2>;\n\t.reg .f32 \t%f<200>;\n\t.reg .b32 \t%r<6>;\n\t.reg .b64 \t%rd<5>;\n\n\
             \tld.param.u64 \t%rd1, [_Z6kernel{number}Pfi_param_0];\n\tld.param.u32 \t%r2, [_Z6kernel{number}Pfi_param_1];\n\
             \tmov.u32 \t%r3, %ctaid.x;\n\tmov.u32 \t%r4, %ntid.x;\n\tmov.u32 \t%r5, %tid.x;\n\tmad.lo.s32 \t%r1, %r3, %r4, %r5;\n\
             \tsetp.ge.s32 \t%p1, %r1, %r2;\n\t@%p1 bra \t$L__BB{number}_2;\n\tcvta.to.global.u64 \t%rd2, %rd1;\n\
             \tmul.wide.s32 \t%rd3, %r1, 4;\n\tadd.s64 \t%rd4, %rd2, %rd3;\n\tld.global.f32 \t%f1, [%rd4];\n"
        );
        for at in 1..=150 {
            text += &format!("\tfma.rn.f32 \t%f{}, %f{at}, 0f3F800000, 0f3F000000;\n", at + 1);
        }
        text += &format!("\tst.global.f32 \t[%rd4], %f151;\n\n$L__BB{number}_2:\n\tret;\n\n}}\n");
        number += 1;
    }
    text
}

#[test]
fn a_large_module_takes_a_few_times_its_text() {
    if std::env::var_os("CUDA_LAUNCH_TEST_RESIDENT").is_none() {
        return alone("a_large_module_takes_a_few_times_its_text", "");
    }
    let (cuda, _) = with_context();
    let text = large_module(20 << 20);
    let before = peak();
    let module = load(&cuda, &text);
    let kernel = function(&cuda, module, "_Z6kernel7Pfi");
    let (mut memory, mut count) = (alloc(&cuda, 4), 1u32);
    ok(launch(&cuda, kernel, null_mut(), &mut [argument(&mut memory), argument(&mut count)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
    let taken = peak() - before;
    assert!(taken < 5 * text.len(), "{taken} bytes for {} bytes of text", text.len());
    assert_eq!(read(&cuda, memory, 4), 75.0f32.to_le_bytes());
    ok(unsafe { cuda.cuModuleUnload(module) });
}
