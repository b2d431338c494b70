//! Profiles of a program with several threads, streams, devices, graphs and modules, through the driver.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{KernelProfile, set_profile, take_profiles};
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

/// `iota` on 3 blocks of 64 threads: 10 instructions in 6 warps; 768 bytes are written, 24 sectors.
const GRID: [u32; 3] = [3, 1, 1];
const BLOCK: [u32; 3] = [64, 1, 1];

fn iota(cuda: &Driver, function: CUfunction, stream: CUstream, mut target: CUdeviceptr) -> CUresult {
    let mut arguments = [argument(&mut target)];
    launch_as(cuda, function, GRID, BLOCK, 0, stream, arguments.as_mut_ptr(), null_mut())
}

/// Launches, blocks, threads, instructions of warps, sectors.
fn sums(profile: &KernelProfile) -> [u64; 5] {
    let total = profile.total();
    [profile.launches, profile.blocks, profile.threads, total.warps, total.global_sectors]
}

/// So many launches of `iota`.
fn times(launches: u64) -> [u64; 5] {
    [1, 3, 192, 6 * 10, 24].map(|each| each * launches)
}

fn names(profiles: &[KernelProfile]) -> Vec<&str> {
    profiles.iter().map(|profile| &*profile.kernel).collect()
}

/// A context of a device, current on this thread.
fn context(cuda: &Driver, device: CUdevice) -> CUcontext {
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, device) });
    context
}

fn end(cuda: &Driver, context: CUcontext) {
    ok(unsafe { cuda.cuCtxDestroy(context) });
}

/// One test: the counts are those of the process.
#[test]
fn everything_that_ran_is_counted_once() {
    unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") };
    assert!(set_profile());
    let cuda = cuda();
    assert!(!set_profile(), "the driver is initialised");
    several_threads_and_streams(&cuda);
    nodes_of_a_graph(&cuda);
    two_devices(&cuda);
    what_does_not_run(&cuda);
    kernels_that_fault(&cuda);
}

fn several_threads_and_streams(cuda: &Arc<Driver>) {
    let current = context(cuda, 0);
    let module = load(cuda, KERNELS);
    let function = function(cuda, module, "iota") as usize;
    let target = alloc(cuda, 9 * 1024);
    let context = current as usize;
    let work = |streams: std::ops::Range<u64>| {
        ok(unsafe { cuda.cuCtxSetCurrent(context as CUcontext) });
        let streams: Vec<_> = streams.map(|at| (at, stream(cuda, 1))).collect();
        for _ in 0..10 {
            for (at, stream) in &streams {
                ok(iota(cuda, function as CUfunction, *stream, target + at * 1024));
            }
        }
        ok(unsafe { cuda.cuCtxSynchronize() });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(0..4));
        scope.spawn(|| work(4..9));
    });
    // Nothing is lost with the module.
    ok(unsafe { cuda.cuModuleUnload(module) });
    end(cuda, current);
    let profiles = take_profiles();
    assert_eq!((names(&profiles), sums(&profiles[0])), (vec!["iota"], times(90)));
    let [memory] = &*profiles[0].allocations else { panic!("{:?}", profiles[0].allocations) };
    assert_eq!((memory.address, memory.bytes), (target, 9 * 1024));
    assert_eq!(memory.by_place.iter().sum::<u64>(), 90 * 24);
    assert!(take_profiles().is_empty());
}

fn nodes_of_a_graph(cuda: &Driver) {
    let current = context(cuda, 0);
    let module = load(cuda, KERNELS);
    let [store, add, iota] = ["store", "add", "iota"].map(|name| function(cuda, module, name));
    let target = alloc(cuda, 1024);
    let graph = graphs::graph(cuda);
    let first = graphs::number(cuda, graph, &[], store, target, 5);
    let second = graphs::number(cuda, graph, &[first], add, target, 2);
    graphs::number(cuda, graph, &[second], add, target + 64, 2);
    let (mut node, mut place) = (null_mut(), target);
    let mut arguments = [argument(&mut place)];
    let parameters =
        CUDA_KERNEL_NODE_PARAMS { gridDimX: 3, blockDimX: 64, ..graphs::kernel(iota, &mut arguments) };
    ok(unsafe { cuda.cuGraphAddKernelNode(&mut node, graph, &second, 1, &parameters) });
    let exec = graphs::instantiate(cuda, graph);
    let stream = stream(cuda, 1);
    graphs::run(cuda, exec, stream);
    graphs::run(cuda, exec, stream);
    end(cuda, current);
    let mut profiles = take_profiles();
    profiles.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    assert_eq!(names(&profiles), ["add", "iota", "store"]);
    // A thread of `add` reads and writes: 7 instructions, two sectors; one of `store` writes: 5 of them, one sector.
    let found: Vec<_> = profiles.iter().map(sums).collect();
    assert_eq!(found, [[4, 4, 4, 4 * 7, 4 * 2], times(2), [2, 2, 2, 2 * 5, 2]]);
}

fn two_devices(cuda: &Driver) {
    let mut targets = Vec::new();
    for device in 0..2 {
        let current = context(cuda, device);
        let module = load(cuda, KERNELS);
        let target = alloc(cuda, 768);
        ok(iota(cuda, function(cuda, module, "iota"), null_mut(), target));
        ok(unsafe { cuda.cuCtxSynchronize() });
        targets.push((target, 768));
        // The second context stays, so that its memory is not that of the first again.
        if device == 1 {
            end(cuda, current);
        }
    }
    let profiles = take_profiles();
    assert_eq!((names(&profiles), sums(&profiles[0])), (vec!["iota"], times(2)));
    targets.sort_unstable();
    let found: Vec<_> = profiles[0].allocations.iter().map(|memory| (memory.address, memory.bytes)).collect();
    assert_eq!(found, targets);
}

/// Launches that are refused, and work that is only recorded.
fn what_does_not_run(cuda: &Driver) {
    let current = context(cuda, 0);
    let module = load(cuda, KERNELS);
    let (function, target) = (function(cuda, module, "iota"), alloc(cuda, 768));
    let mut place = target;
    let mut arguments = [argument(&mut place)];
    for [grid, block] in [[0, 64], [3, 0], [3, 2048]] {
        let refused = launch_as(
            cuda,
            function,
            [grid, 1, 1],
            [block, 1, 1],
            0,
            null_mut(),
            arguments.as_mut_ptr(),
            null_mut(),
        );
        assert_eq!(refused, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (stream, mut graph) = (stream(cuda, 1), null_mut());
    ok(unsafe {
        cuda.cuStreamBeginCapture(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    });
    ok(iota(cuda, function, stream, target));
    ok(unsafe { cuda.cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuda.cuCtxSynchronize() });
    end(cuda, current);
    assert_eq!(names(&take_profiles()), [""; 0]);
}

/// The last block has nowhere to write: the launch is there with what it did up to the fault, and with no instruction behind it.
fn kernels_that_fault(cuda: &Driver) {
    context(cuda, 0);
    let module = load(cuda, KERNELS);
    let (function, target) = (function(cuda, module, "iota"), alloc(cuda, 512));
    ok(iota(cuda, function, null_mut(), target));
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(iota(cuda, function, null_mut(), target), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let profiles = take_profiles();
    assert_eq!(names(&profiles), ["iota"]);
    assert_eq!(sums(&profiles[0])[..3], times(1)[..3]);
    let ends = profiles[0].instructions.last().unwrap();
    assert_eq!(&*ends.name, "ret");
    // Four warps at most come behind the store.
    assert!(ends.counts.warps <= 4, "{:?}", ends.counts);
}
