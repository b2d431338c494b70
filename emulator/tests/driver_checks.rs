//! The checks through the driver: chosen by the environment, told on standard error, kept for the program.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::CUresult;
use cuda_emulator::{Checks, FindingKind, driver, forget_written, set_checks, take_findings};
use std::process::Command;
use std::ptr::{from_mut, null_mut};

/// Each thread adds one to a word that all share: line 5 reads, line 6 writes.
const COUNT: &std::ffi::CStr = c".version 8.0 .target sm_90 .address_size 64
.visible .entry count(.param .u64 p) {
    .reg .b64 %a; .reg .b32 %n;
    ld.param.u64 %a, [p];
    ld.global.u32 %n, [%a]; add.u32 %n, %n, 1;
    st.global.u32 [%a], %n;
    ret; }";

/// Launches it on memory that nobody wrote, or that is filled first.
fn count(fill: bool, launches: usize) -> u64 {
    let cuda = driver();
    let ok = |code: CUresult| assert_eq!(code, CUresult::CUDA_SUCCESS);
    let (mut context, mut module, mut count, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
    unsafe {
        ok(cuda.cuInit(0));
        ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuda.cuCtxSetCurrent(context));
        ok(cuda.cuModuleLoadData(&mut module, COUNT.as_ptr().cast()));
        ok(cuda.cuModuleGetFunction(&mut count, module, c"count".as_ptr()));
        ok(cuda.cuMemAlloc(&mut memory, 64));
        if fill {
            ok(cuda.cuMemsetD8(memory, 0, 64));
        }
        for _ in 0..launches {
            let mut parameters = [from_mut(&mut memory).cast()];
            let (parameters, no) = (parameters.as_mut_ptr(), null_mut());
            ok(cuda.cuLaunchKernel(count, 1, 1, 1, 32, 1, 1, 0, null_mut(), parameters, no));
        }
        ok(cuda.cuCtxSynchronize());
    }
    memory
}

/// What a child of this test prints on standard error, run with that variable.
fn child(name: &str, checks: Option<&str>) -> String {
    child_with(name, checks.map(|checks| ("CUDA_LAUNCH_EMULATOR_CHECK", checks)))
}

fn child_with(name: &str, variable: Option<(&str, &str)>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]).env_remove("CUDA_LAUNCH_EMULATOR_CHECK");
    let output = command.envs(variable).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}{errors}", String::from_utf8_lossy(&output.stdout));
    errors
}

#[test]
fn the_environment_asks_and_each_place_is_told_once() {
    let told = child("launches_twice", Some("init,race"));
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("cuda-emulator:")).collect();
    let [unwritten, race] = lines.as_slice() else { panic!("{told}") };
    assert!(unwritten.contains("never written in kernel `count`: 4 bytes of global memory"), "{told}");
    assert!(unwritten.contains("read by block (0, 0, 0), thread (0, 0, 0), PTX line 5"), "{told}");
    assert!(race.contains("race in kernel `count`") && race.contains("PTX line 6; read by"), "{told}");
    let told = child("launches_twice", Some(" race "));
    assert!(told.contains("race in kernel") && !told.contains("never written"), "{told}");
    assert_eq!(child("launches_twice", None), "");
}

/// Tests would pass without what these variables ask for.
#[test]
fn the_driver_does_not_start_without_the_checks_that_a_typo_asks_for() {
    for (name, text, valid) in [
        ("CHECK", "inti", "a list of init, race, barrier, leak, all, none"),
        ("SCHEDULES", "5O", "a number of orders, such as 50"),
        ("SEED", "-1", "the number of an order, such as 17"),
        ("TIMEOUT", "10s", "seconds, such as 10 or 0.5"),
    ] {
        let name = format!("CUDA_LAUNCH_EMULATOR_{name}");
        let told = child_with("init_fails", Some((&name, text)));
        let line = format!("cuda-emulator: {name}={text} is invalid and cuInit fails; valid: {valid}\n");
        assert_eq!(told, line, "once, though it is called again");
    }
    // Others only say on what kernels run.
    let told = child_with("launches_twice", Some(("CUDA_LAUNCH_EMULATOR_WORKERS", "0")));
    let line = "cuda-emulator: CUDA_LAUNCH_EMULATOR_WORKERS=0 is invalid and is ignored; valid: a number from 1 on\n";
    assert_eq!(told, line);
}

#[test]
fn a_program_asks_and_is_told_in_values() {
    assert_eq!(child("asks", Some("none")), "");
}

#[test]
fn blocks_that_nobody_gave_back_are_told_with_the_context() {
    let told = child("leaves_lists", Some("leak"));
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("cuda-emulator:")).collect();
    let [leak] = lines.as_slice() else { panic!("{told}") };
    assert!(leak.contains("leak in kernel `build`: 16 bytes of global memory at 0x5"), "{told}");
    assert!(
        leak.contains(
            "never freed: 96 bytes in 6 blocks that were allocated here: malloc by block (0, 0, 0), thread ("
        ),
        "{told}"
    );
    assert!(child("leaves_lists", Some("all")).contains("leak in kernel `build`"));
    assert_eq!(child("leaves_lists", Some("init,race,barrier")), "");
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn leaves_lists() {
    let cuda = driver();
    let ok = |code: CUresult| assert_eq!(code, CUresult::CUDA_SUCCESS);
    let (mut context, mut module, mut build, mut lists) = (null_mut(), null_mut(), null_mut(), 0);
    let image = std::ffi::CString::new(include_str!("../../tests/kernels/heap.ptx")).unwrap();
    unsafe {
        ok(cuda.cuInit(0));
        ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuda.cuCtxSetCurrent(context));
        ok(cuda.cuModuleLoadData(&mut module, image.as_ptr().cast()));
        ok(cuda.cuModuleGetFunction(&mut build, module, c"build".as_ptr()));
        ok(cuda.cuMemAlloc(&mut lists, 64));
        let mut parameters = [from_mut(&mut lists).cast()];
        ok(cuda.cuLaunchKernel(build, 1, 1, 1, 4, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()));
        ok(cuda.cuDevicePrimaryCtxRelease(0));
    }
}

#[test]
fn copies_of_what_nobody_wrote_are_told() {
    let told = child("copies_back", Some("init"));
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("cuda-emulator:")).collect();
    let [line, rows, pinned] = lines.as_slice() else { panic!("{told}") };
    let start = "cuda-emulator: `cuMemcpyDtoH_v2` copies memory to the host that was never written: 64 bytes of global memory at 0x";
    assert!(line.starts_with(start) && line.contains("at offset 64; check that the kernel"), "{told}");
    assert!(rows.contains("copies memory to the host that was never written: 32 bytes"), "{told}");
    assert!(pinned.contains("`cuMemcpyDtoH_v2`") && pinned.contains(": 16 bytes"), "{told}");
    assert_eq!(child("copies_back", Some("race")), "");
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn copies_back() {
    let cuda = driver();
    let ok = |code: CUresult| assert_eq!(code, CUresult::CUDA_SUCCESS);
    let (mut context, mut memory, mut other, mut pinned) = (null_mut(), 0, 0, null_mut());
    let mut host = [0_u8; 128];
    unsafe {
        ok(cuda.cuInit(0));
        ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuda.cuCtxSetCurrent(context));
        ok(cuda.cuMemAlloc(&mut memory, 128));
        ok(cuda.cuMemAlloc(&mut other, 128));
        ok(cuda.cuMemHostAlloc(&mut pinned, 128, 0));
        ok(cuda.cuMemsetD8(memory, 0, 64));
        // A part was written; no bytes at all; from the device to the device.
        ok(cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), memory, 128));
        ok(cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), memory + 64, 0));
        ok(cuda.cuMemcpyDtoD(other, memory + 64, 64));
        // Told once.
        ok(cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), memory + 64, 64));
        ok(cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), memory + 64, 64));
        let mut rows = |start| {
            let copy = cuda_driver_sys::CUDA_MEMCPY2D {
                srcMemoryType: cuda_driver_sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                srcDevice: start,
                srcPitch: 32,
                dstMemoryType: cuda_driver_sys::CUmemorytype::CU_MEMORYTYPE_HOST,
                dstHost: host.as_mut_ptr().cast(),
                dstPitch: 16,
                WidthInBytes: 16,
                Height: 2,
                ..Default::default()
            };
            ok(cuda.cuMemcpy2D(&copy));
        };
        // One of the two rows was written; none.
        rows(memory + 32);
        rows(memory + 64);
        ok(cuda.cuMemcpyDtoH(pinned, memory + 112, 16));
    }
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn launches_twice() {
    count(false, 2);
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn init_fails() {
    let (cuda, mut devices) = (driver(), 0);
    for _ in 0..2 {
        assert_eq!(unsafe { cuda.cuInit(0) }, CUresult::CUDA_ERROR_INVALID_VALUE);
        let answer = unsafe { cuda.cuDeviceGetCount(&mut devices) };
        assert_eq!(answer, CUresult::CUDA_ERROR_NOT_INITIALIZED);
    }
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn asks() {
    assert!(set_checks(Checks::KERNELS) && !set_checks(Checks::NONE));
    let memory = count(true, 1);
    let found = take_findings();
    assert_eq!((found.list.len(), found.list[0].kind, found.left_out), (1, FindingKind::Race, 0));
    assert_eq!((found.list[0].access.ptx_line, found.list[0].bytes.as_ref().unwrap().address), (6, memory));
    assert_eq!(take_findings().list, []);
    assert!(forget_written(memory, 64) && !forget_written(memory, 65));
    assert!(!set_checks(Checks::KERNELS), "the driver is initialised");
    count(false, 1);
    assert!(take_findings().list.iter().any(|found| found.kind == FindingKind::Uninitialised));
}
