//! What is known before a kernel runs, and what is bounded: kernels that cannot run here, counts, queues, time.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{FaultKind, Instance, InstanceOptions};
use std::fmt::Write;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
const TIMEOUT: CUresult = CUresult::CUDA_ERROR_LAUNCH_TIMEOUT;

/// A kernel with an instruction that the emulator does not have, on line 9, and one without.
const LACKING: &str = "\
.version 8.3
.target sm_90
.address_size 64
.visible .entry lacking(.param .u64 p, .param .u64 q)
{
.reg .b64 %a, %b;
ld.param.u64 %a, [p];
ld.param.u64 %b, [q];
multimem.red.relaxed.sys.global.add.u64 [%a], %b;
ret;
}
.visible .entry whole(.param .u64 p, .param .u64 q)
{
.reg .b64 %a;
ld.param.u64 %a, [p];
st.global.u32 [%a], 7;
ret;
}
.visible .entry spin()
{
again:
bra again;
}
";

/// The driver of an instance with its primary context current.
fn begin(instance: &Instance) -> Arc<Driver> {
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    cuda
}

/// All of the driver's log.
fn log(cuda: &Driver) -> String {
    let (mut text, mut size) = (vec![0_u8; 25_601], 25_601);
    ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), text.as_mut_ptr().cast(), &mut size, 0) });
    String::from_utf8_lossy(&text[..size]).into_owned()
}

#[test]
fn a_kernel_that_cannot_run_is_refused_at_its_launch_and_nothing_else_is() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let module = load(&cuda, LACKING);
    let (lacking, whole) = (function(&cuda, module, "lacking"), function(&cuda, module, "whole"));
    let mut out = alloc(&cuda, 64);
    let mut other = out;
    let mut arguments = [argument(&mut out), argument(&mut other)];
    let own = stream(&cuda, 1);
    assert_eq!(launch(&cuda, lacking, own, &mut arguments), NOT_SUPPORTED);
    let log_now = log(&cuda);
    let lines: Vec<&str> = log_now.lines().collect();
    let expected = "[CUDA][E] kernel `lacking`, PTX line 9: `multimem.red";
    assert!(lines[0].starts_with(expected), "{log_now}");
    assert!(
        lines[1].starts_with("[CUDA][E] help: run the kernel on a GPU, or compile it without that"),
        "{log_now}"
    );
    let answer = "[CUDA][E] Returning 801 (CUDA_ERROR_NOT_SUPPORTED) from cuLaunchKernel:";
    assert!(lines[2].starts_with(answer), "{log_now}");
    let config = CUlaunchConfig { hStream: own, ..one_thread() };
    let code = unsafe { cuda.cuLaunchKernelEx(&config, lacking, arguments.as_mut_ptr(), null_mut()) };
    assert_eq!(code, NOT_SUPPORTED);
    let cooperative =
        unsafe { cuda.cuLaunchCooperativeKernel(lacking, 1, 1, 1, 1, 1, 1, 0, own, arguments.as_mut_ptr()) };
    assert_eq!(cooperative, NOT_SUPPORTED);
    // A graph's node, and a launch that is captured.
    let (mut graph, mut node) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    let parameters = CUDA_KERNEL_NODE_PARAMS {
        func: lacking,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: arguments.as_mut_ptr(),
        ..CUDA_KERNEL_NODE_PARAMS::default()
    };
    let code = unsafe { cuda.cuGraphAddKernelNode(&mut node, graph, null(), 0, &parameters) };
    assert_eq!(code, NOT_SUPPORTED);
    assert!(log(&cuda).contains("Returning 801 (CUDA_ERROR_NOT_SUPPORTED) from cuGraphAddKernelNode"));
    let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.cuStreamBeginCapture(own, relaxed) });
    assert_eq!(launch(&cuda, lacking, own, &mut arguments), NOT_SUPPORTED);
    ok(launch(&cuda, whole, own, &mut arguments));
    ok(unsafe { cuda.cuStreamEndCapture(own, &mut graph) });
    // All goes on as before.
    ok(unsafe { cuda.cuStreamSynchronize(own) });
    ok(launch(&cuda, whole, own, &mut arguments));
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(read(&cuda, out, 4), [7, 0, 0, 0]);
}

/// Two hundred values are live at once.
#[test]
fn a_block_without_registers_is_told_that_their_number_is_an_estimate() {
    let loads: String = (0..200).map(|n| format!("mov.u32 %r{n}, %clock;\n")).collect();
    let sums: String = (0..200).map(|n| format!("add.u32 %s, %s, %r{n};\n")).collect();
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry wide(.param .u64 p) {{\n.reg .b64 %a;\n.reg .b32 %s;\n.reg .b32 %r<200>;\n\
         ld.param.u64 %a, [p];\nmov.u32 %s, 0;\n{loads}{sums}st.global.u32 [%a], %s;\nret;\n}}\n"
    );
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let wide = function(&cuda, load(&cuda, &ptx), "wide");
    let mut out = alloc(&cuda, 64);
    let mut arguments = [argument(&mut out)];
    let config = CUlaunchConfig { blockDimX: 1024, ..one_thread() };
    let code = unsafe { cuda.cuLaunchKernelEx(&config, wide, arguments.as_mut_ptr(), null_mut()) };
    assert_eq!(code, CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    let log = log(&cuda);
    assert!(log.contains("registers per thread, by the emulator's estimate"), "{log}");
    assert!(log.contains("help: use a smaller block"), "{log}");
}

fn one_thread() -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        ..CUlaunchConfig::default()
    }
}

#[test]
fn a_fault_is_in_the_log_with_all_that_is_known() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let whole = function(&cuda, load(&cuda, LACKING), "whole");
    let mut out = alloc(&cuda, 64) + 64;
    let mut other = out;
    ok(launch(&cuda, whole, null_mut(), &mut [argument(&mut out), argument(&mut other)]));
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let log = log(&cuda);
    let line = log.lines().find(|line| line.contains("in kernel")).unwrap();
    let address = format!("0x{out:x}");
    for part in [
        "[CUDA][E] CUDA_ERROR_ILLEGAL_ADDRESS (700): illegal write of 4 bytes",
        &address,
        "allocation",
        "64 bytes",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    for part in ["kernel `whole`", "block (0, 0, 0)", "thread (0, 0, 0)", "PTX line 16"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn a_log_that_does_not_fit_loses_its_oldest_lines() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let mut device = 0;
    for _ in 0..20 {
        assert_ne!(unsafe { cuda.cuDeviceGet(&mut device, 99) }, CUresult::SUCCESS);
    }
    assert_eq!(unsafe { cuda.cuMemFree(0x1234) }, INVALID_VALUE);
    let (mut text, mut size) = ([0_u8; 300], 300);
    ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), text.as_mut_ptr().cast(), &mut size, 0) });
    let text = String::from_utf8_lossy(&text[..size]).into_owned();
    assert!(text.starts_with("[CUDA]") && text.ends_with('\n') && text.contains("cuMemFree"), "{text}");
}

#[test]
fn a_number_of_elements_that_no_array_has_is_an_error() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let huge = 1_usize << 40;
    let (mut resource, mut description) = (CUdevResource::default(), null_mut());
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    let mut memory = alloc(&cuda, 64);
    unsafe {
        ok(cuda.cuDeviceGetDevResource(0, &mut resource, CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM));
        for count in [1 << 31, u32::MAX] {
            let code = cuda.cuDevResourceGenerateDesc(&mut description, &mut resource, count);
            assert_eq!(code, INVALID_VALUE);
        }
        ok(cuda.cuGraphCreate(&mut graph, 0));
        ok(cuda.cuGraphAddEmptyNode(&mut node, graph, null(), 0));
        let mut other = null_mut();
        assert_eq!(cuda.cuGraphAddEmptyNode(&mut other, graph, &node, huge), INVALID_VALUE);
        assert_eq!(cuda.cuGraphAddMemFreeNode(&mut other, graph, &node, huge, memory), INVALID_VALUE);
        assert_eq!(cuda.cuGraphAddDependencies(graph, &node, &node, null(), huge), INVALID_VALUE);
        assert_eq!(cuda.cuGraphRemoveDependencies(graph, &node, &node, null(), huge), INVALID_VALUE);
        for count in [huge, usize::MAX] {
            let (mut first, mut second, mut count) = ([null_mut(); 4], [null_mut(); 4], count);
            let (a, b) = (first.as_mut_ptr(), second.as_mut_ptr());
            assert_eq!(cuda.cuGraphGetNodes(graph, a, &mut count), INVALID_VALUE);
            assert_eq!(cuda.cuGraphGetRootNodes(graph, a, &mut count), INVALID_VALUE);
            assert_eq!(cuda.cuGraphGetEdges(graph, a, b, null_mut(), &mut count), INVALID_VALUE);
            assert_eq!(cuda.cuGraphNodeGetDependencies(node, a, null_mut(), &mut count), INVALID_VALUE);
            assert_eq!(cuda.cuGraphNodeGetDependentNodes(node, a, null_mut(), &mut count), INVALID_VALUE);
        }
        ok(cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        let access = CUmemAccessDesc::default();
        assert_eq!(cuda.cuMemSetAccess(memory, 64, &access, huge), INVALID_VALUE);
        let mut pool = null_mut();
        ok(cuda.cuDeviceGetDefaultMemPool(&mut pool, 0));
        assert_eq!(cuda.cuMemPoolSetAccess(pool, &access, huge), INVALID_VALUE);
        let mut operation = CUstreamBatchMemOpParams::default();
        assert_eq!(cuda.cuStreamBatchMemOp(null_mut(), u32::MAX, &mut operation, 0), INVALID_VALUE);
        let (mut attribute, mut value) = (CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT, null_mut());
        let code = cuda.cuPointerGetAttributes(u32::MAX, &mut attribute, &mut value, memory);
        assert_eq!(code, INVALID_VALUE);
        let (mut size, mut range) = (8, CUmem_range_attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY);
        let code = cuda.cuMemRangeGetAttributes(&mut value, &mut size, &mut range, huge, memory, 64);
        assert_eq!(code, INVALID_VALUE);
        let mut config = one_thread();
        config.numAttrs = u32::MAX;
        let mut attributes = CUlaunchAttribute::default();
        config.attrs = &mut attributes;
        let whole = function(&cuda, load(&cuda, LACKING), "whole");
        let mut other = memory;
        let mut arguments = [argument(&mut memory), argument(&mut other)];
        let code = cuda.cuLaunchKernelEx(&config, whole, arguments.as_mut_ptr(), null_mut());
        assert_eq!(code, INVALID_VALUE);
        let (mut module, image) = (null_mut(), LACKING.as_ptr().cast());
        let (mut option, mut values) = (CUjit_option::CU_JIT_TARGET, null_mut());
        let code = cuda.cuModuleLoadDataEx(&mut module, image, u32::MAX, &mut option, &mut values);
        assert_eq!(code, INVALID_VALUE);
    }
}

#[test]
fn who_launches_more_than_a_stream_takes_waits() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let own = stream(&cuda, 1);
    let (given, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, found) = (Arc::clone(&given), Arc::clone(&most));
    let look = move || {
        while seen.load(Ordering::Relaxed) < 4096 {
            std::thread::yield_now();
        }
        // Who would not wait has given all by then.
        std::thread::sleep(Duration::from_millis(200));
        found.store(seen.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    ok(host_function(&cuda, own, look));
    let whole = function(&cuda, load(&cuda, LACKING), "whole");
    let mut out = alloc(&cuda, 4);
    let mut other = out;
    for _ in 0..5000 {
        ok(launch(&cuda, whole, own, &mut [argument(&mut out), argument(&mut other)]));
        given.fetch_add(1, Ordering::Relaxed);
    }
    ok(unsafe { cuda.cuStreamSynchronize(own) });
    assert_eq!(most.load(Ordering::Relaxed), 4096);
}

#[test]
fn a_kernel_that_runs_for_longer_than_it_may_has_faulted() {
    let instance = InstanceOptions::new().time_limit(Duration::from_millis(100)).start().unwrap();
    let cuda = begin(&instance);
    let module = load(&cuda, LACKING);
    let (spin, whole) = (function(&cuda, module, "spin"), function(&cuda, module, "whole"));
    let mut out = alloc(&cuda, 4);
    let mut other = out;
    ok(launch(&cuda, whole, null_mut(), &mut [argument(&mut out), argument(&mut other)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
    ok(launch_as(&cuda, spin, [40, 1, 1], [64, 1, 1], 0, null_mut(), null_mut(), null_mut()));
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, TIMEOUT);
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, TIMEOUT, "as after any fault");
    let fault = instance.faults().remove(0);
    assert_eq!((fault.kind, fault.kernel.as_str(), fault.ptx_line), (FaultKind::TimeLimit, "spin", 22));
    assert!(fault.message.contains("longer than 0.1 s"), "{fault}");
    assert!(log(&cuda).contains("CUDA_ERROR_LAUNCH_TIMEOUT (702): the kernel ran for longer"));
}

/// A warp's turn was half a million iterations, however many instructions each has.
#[test]
fn long_iterations_end_in_time_too() {
    let instance = InstanceOptions::new().time_limit(Duration::from_millis(100)).start().unwrap();
    let cuda = begin(&instance);
    let body = "add.u32 %b, %b, 3;\n".repeat(2000);
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry count(.param .u64 p)\n{{\n.reg .b32 %a, %b;\n.reg .b64 %p;\n\
         ld.param.u64 %p, [p];\nmov.u32 %a, 0;\nmov.u32 %b, 0;\nagain:\n{body}add.u32 %a, %a, 1;\nst.volatile.global.u32 [%p], %a;\n\
         bra again;\n}}\n"
    );
    let count = function(&cuda, load(&cuda, &text), "count");
    let mut iterations: *mut u32 = null_mut();
    ok(unsafe { cuda.cuMemAllocHost((&raw mut iterations).cast(), 4) });
    ok(launch(&cuda, count, null_mut(), &mut [argument(&mut iterations)]));
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, TIMEOUT);
    let made = unsafe { iterations.read_volatile() };
    assert!((1..1 << 18).contains(&made), "{made} iterations");
    assert_eq!(instance.faults().remove(0).kind, FaultKind::TimeLimit);
}

/// Tables of targets and calls lead back as well as branches do.
#[test]
fn loops_without_a_branch_end_in_time_too() {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let table = ".visible .entry k()\n{\n.reg .b32 %a;\nmov.u32 %a, 0;\ntop:\nto: .branchtargets top, end;\nbrx.idx %a, to;\nend:\nret;\n}\n";
    // Calls 2^40 functions.
    let calls: String = (0..40)
        .map(|n| format!(".func f{}()\n{{\ncall f{n}, ();\ncall f{n}, ();\nret;\n}}\n", n + 1))
        .collect();
    let calls =
        format!(".func f0()\n{{\nret;\n}}\n{calls}.visible .entry k()\n{{\ncall f40, ();\nret;\n}}\n");
    for text in [table, &calls] {
        let instance = InstanceOptions::new().time_limit(Duration::from_millis(100)).start().unwrap();
        let cuda = begin(&instance);
        let k = function(&cuda, load(&cuda, &format!("{head}{text}")), "k");
        ok(launch(&cuda, k, null_mut(), &mut []));
        assert_eq!(unsafe { cuda.cuCtxSynchronize() }, TIMEOUT);
        assert_eq!(instance.faults().remove(0).kind, FaultKind::TimeLimit);
    }
}

/// A warp that looks for a flag gives the one that sets it a turn, whatever leads it back.
#[test]
fn a_loop_without_a_branch_gives_others_their_turns() {
    let instance = InstanceOptions::new().time_limit(Duration::from_secs(60)).start().unwrap();
    let cuda = begin(&instance);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %a, %t;\n.reg .b64 %p;\n\
         .reg .pred %q;\nld.param.u64 %p, [p];\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 32;\n@!%q bra set;\ntop:\n\
         ld.volatile.global.u32 %a, [%p];\nto: .branchtargets top, end;\nbrx.idx %a, to;\nset:\nst.volatile.global.u32 [%p], 1;\nend:\nret;\n}\n";
    let k = function(&cuda, load(&cuda, text), "k");
    let mut flag = alloc(&cuda, 4);
    ok(unsafe { cuda.cuMemsetD32(flag, 0, 1) });
    let mut arguments = [argument(&mut flag)];
    ok(launch_as(&cuda, k, [1, 1, 1], [64, 1, 1], 0, null_mut(), arguments.as_mut_ptr(), null_mut()));
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(read(&cuda, flag, 4), [1, 0, 0, 0]);
}

#[test]
fn a_reset_ends_a_kernel_that_never_would() {
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let spin = function(&cuda, load(&cuda, LACKING), "spin");
    for _ in 0..3 {
        ok(launch_as(&cuda, spin, [9, 1, 1], [64, 1, 1], 0, null_mut(), null_mut(), null_mut()));
    }
    ok(unsafe { cuda.cuDevicePrimaryCtxReset(0) });
    let cuda = begin(&instance);
    let whole = function(&cuda, load(&cuda, LACKING), "whole");
    let mut out = alloc(&cuda, 4);
    let mut other = out;
    ok(launch(&cuda, whole, null_mut(), &mut [argument(&mut out), argument(&mut other)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(read(&cuda, out, 4), [7, 0, 0, 0]);
}

#[test]
fn a_module_of_many_variables_has_the_last_one() {
    // `cargo xtask gate emulator-cost` counts what each of them costs.
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for index in 0..60_000 {
        writeln!(text, ".visible .global .u32 v{index} = {index};").unwrap();
    }
    let instance = Instance::new().unwrap();
    let cuda = begin(&instance);
    let module = load(&cuda, &text);
    let (mut address, mut bytes) = (0, 0);
    ok(unsafe { cuda.cuModuleGetGlobal(&mut address, &mut bytes, module, c"v59999".as_ptr()) });
    assert_eq!((read(&cuda, address, 4), bytes), (59_999_u32.to_le_bytes().to_vec(), 4));
    ok(unsafe { cuda.cuModuleUnload(module) });
}
