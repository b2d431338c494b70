//! Graphs for kernels to launch: which can be instantiated and changed, and what becomes of launches that go wrong. The codes are those of an
//! H200 with driver 580 (2026-11-30), where nothing else is said.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Instance, InstanceOptions};
use device_graphs::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use support::graphs::{empty, graph};
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const GOOD: CUgraphInstantiateResult = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS;
const BAD: CUgraphInstantiateResult = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_ERROR;
const WRONG_NODE: CUgraphInstantiateResult =
    CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
const CONTEXTS: CUgraphInstantiateResult =
    CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;

/// What instantiating a graph answers: the code, the result and the node, and the flags that it has then.
fn instantiate(
    cuda: &Driver,
    graph: CUgraph,
    flags: u64,
) -> (CUresult, CUgraphInstantiateResult, CUgraphNode, Option<u64>) {
    let (mut exec, mut told) = (null_mut(), 99);
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS { flags, ..Default::default() };
    let code = unsafe { cuda.cuGraphInstantiateWithParams(&mut exec, graph, &mut parameters) };
    if !exec.is_null() {
        ok(unsafe { cuda.cuGraphExecGetFlags(exec, &mut told) });
    }
    (code, parameters.result_out, parameters.hErrNode_out, (!exec.is_null()).then_some(told))
}

#[track_caller]
fn good(cuda: &Driver, graph: CUgraph) {
    assert_eq!(instantiate(cuda, graph, DEVICE_LAUNCH), (CUresult::SUCCESS, GOOD, null_mut(), Some(4)));
}

#[track_caller]
fn wrong(cuda: &Driver, graph: CUgraph, node: CUgraphNode) {
    assert_eq!(instantiate(cuda, graph, DEVICE_LAUNCH), (INVALID, WRONG_NODE, node, None));
    assert_eq!(instantiate(cuda, graph, 0).0, CUresult::SUCCESS, "the host may launch it");
}

/// A graph of one copy.
fn copy(cuda: &Driver, context: CUcontext, parameters: &CUDA_MEMCPY3D) -> (CUgraph, CUgraphNode) {
    let (graph, mut node) = (graph(cuda), null_mut());
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut node, graph, null(), 0, parameters, context) });
    (graph, node)
}

fn context(cuda: &Driver) -> CUcontext {
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxGetCurrent(&mut context) });
    context
}

#[test]
fn a_graph_for_kernels_has_kernels_copies_and_fills() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let (memory, context) = (kernels.zeros(16), context(cuda));
    assert_eq!(instantiate(cuda, graph(cuda), DEVICE_LAUNCH), (INVALID, BAD, null_mut(), None), "no nodes");
    let count = || kernels.graph("count", values!(memory));
    good(cuda, count());
    let (filled, mut node) = (graph(cuda), null_mut());
    let fill =
        CUDA_MEMSET_NODE_PARAMS { dst: memory, elementSize: 4, width: 2, height: 1, ..Default::default() };
    ok(unsafe { cuda.cuGraphAddMemsetNode(&mut node, filled, null(), 0, &fill, context) });
    good(cuda, filled);
    // Behind a good one, too.
    let refused: [fn(&Driver, CUgraph, CUdeviceptr) -> CUgraphNode; 5] = [
        |cuda, graph, _| empty(cuda, graph, &[]),
        |cuda, graph, _| {
            unsafe extern "C" fn nothing(_: *mut c_void) {}
            let (parameters, mut node) =
                (CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: null_mut() }, null_mut());
            ok(unsafe { cuda.cuGraphAddHostNode(&mut node, graph, null(), 0, &parameters) });
            node
        },
        |cuda, graph, _| {
            let mut node = null_mut();
            ok(unsafe { cuda.cuGraphAddEventRecordNode(&mut node, graph, null(), 0, event(cuda, 0)) });
            node
        },
        |cuda, graph, _| {
            let mut node = null_mut();
            ok(unsafe { cuda.cuGraphAddEventWaitNode(&mut node, graph, null(), 0, event(cuda, 0)) });
            node
        },
        |cuda, graph, _| {
            let mut parameters = CUDA_MEM_ALLOC_NODE_PARAMS { bytesize: 64, ..Default::default() };
            parameters.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            parameters.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            let mut node = null_mut();
            ok(unsafe { cuda.cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut parameters) });
            node
        },
    ];
    for add in refused {
        let alone = graph(cuda);
        wrong(cuda, alone, add(cuda, alone, memory));
        let both = count();
        wrong(cuda, both, add(cuda, both, memory));
    }
    let launching = graph(cuda);
    wrong(cuda, launching, kernels.node(launching, &[], "launch_kernel", values!(memory)));
}

#[test]
fn a_graph_for_kernels_has_graphs_of_which_the_same_holds() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let memory = kernels.zeros(1);
    let around = |inner: CUgraph| {
        let (outer, mut node, mut clone) = (graph(cuda), null_mut(), null_mut());
        ok(unsafe { cuda.cuGraphAddChildGraphNode(&mut node, outer, null(), 0, inner) });
        ok(unsafe { cuda.cuGraphChildGraphNodeGetGraph(node, &mut clone) });
        (outer, clone)
    };
    good(cuda, around(kernels.graph("count", values!(memory))).0);
    let nothing = around(graph(cuda)).0;
    assert_eq!(instantiate(cuda, nothing, DEVICE_LAUNCH), (INVALID, BAD, null_mut(), None));
    let bad = graph(cuda);
    empty(cuda, bad, &[]);
    let (outer, clone) = around(bad);
    wrong(cuda, outer, support::graphs::nodes(cuda, clone)[0]);
}

#[test]
fn copies_are_between_memory_that_the_device_reaches() {
    let kernels = Kernels::new();
    let (cuda, memory) = (&*kernels.cuda, kernels.zeros(16));
    let (context, mut pinned) = (context(cuda), null_mut());
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 64) });
    let mut pageable = [0_u32; 16];
    let to_host = |target: *mut c_void| support::graphs::to_host(target, memory, 4);
    good(cuda, copy(cuda, context, &to_host(pinned)).0);
    let (graph, node) = copy(cuda, context, &to_host(pageable.as_mut_ptr().cast()));
    wrong(cuda, graph, node);
    let inside = CUDA_MEMCPY3D {
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: memory + 32,
        ..to_host(null_mut())
    };
    good(cuda, copy(cuda, context, &inside).0);
    let described = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 16,
        Format: CUarray_format::CU_AD_FORMAT_FLOAT,
        NumChannels: 1,
        ..Default::default()
    };
    let mut array = null_mut();
    ok(unsafe { cuda.cuArray3DCreate(&mut array, &described) });
    let to_array =
        CUDA_MEMCPY3D { dstMemoryType: CUmemorytype::CU_MEMORYTYPE_ARRAY, dstArray: array, ..inside };
    let (graph, node) = copy(cuda, context, &to_array);
    wrong(cuda, graph, node);
}

#[test]
fn nodes_are_of_one_context() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let own = context(cuda);
    let both = kernels.graph("count", values!(kernels.zeros(1)));
    let (other, mut node) = (Kernels::new(), null_mut());
    let memory = other.zeros(1);
    assert_ne!(context(cuda), own);
    let second = other.node(both, &[], "count", values!(memory));
    assert_eq!(instantiate(cuda, both, DEVICE_LAUNCH), (INVALID, CONTEXTS, second, None));
    assert_eq!(instantiate(cuda, both, 0), (CUresult::SUCCESS, GOOD, null_mut(), Some(0)));
    let fill =
        CUDA_MEMSET_NODE_PARAMS { dst: memory, elementSize: 4, width: 1, height: 1, ..Default::default() };
    let both = other.graph("count", values!(memory));
    ok(unsafe { cuda.cuGraphAddMemsetNode(&mut node, both, null(), 0, &fill, own) });
    assert_eq!(instantiate(cuda, both, DEVICE_LAUNCH).1, CONTEXTS);
}

#[test]
fn flags_are_told_as_a_gpu_tells_them() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let graph = kernels.graph("count", values!(kernels.zeros(1)));
    let told = [0, 1, 2, 4, 6, 8, 9, 10, 12].map(|flags| instantiate(cuda, graph, flags).3.unwrap());
    assert_eq!(told, [0, 1, 0, 4, 4, 0, 1, 0, 4]);
    assert_eq!(instantiate(cuda, graph, 5), (INVALID, BAD, null_mut(), None));
    let mut exec = null_mut();
    assert_eq!(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 6) }, INVALID);
}

/// What kernels could not launch is no change of a graph that they can.
#[test]
fn a_graph_for_kernels_stays_one() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let mut memory = kernels.zeros(2);
    let original = graph(cuda);
    let node = kernels.node(original, &[], "count", values!(memory));
    let exec = kernels.instantiate(original, DEVICE_LAUNCH);
    let mut arguments = [argument(&mut memory)];
    let launching = function(cuda, kernels.module, "launch_kernel");
    let parameters = support::graphs::kernel(launching, &mut arguments);
    let code = unsafe { cuda.cuGraphExecKernelNodeSetParams(exec, node, &parameters) };
    assert_eq!(code, INVALID);
    let (other, mut told) = (graph(cuda), CUgraphExecUpdateResultInfo::default());
    let bad = kernels.node(other, &[], "launch_kernel", values!(memory));
    let code = unsafe { cuda.cuGraphExecUpdate(exec, other, &mut told) };
    assert_eq!(code, CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_eq!(told.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    assert_eq!(told.errorNode, bad);
    kernels.run(exec);
    assert_eq!(kernels.words(memory, 2), [1, 0]);
}

#[test]
fn only_kernels_of_graphs_launch_graphs() {
    let kernels = Kernels::new();
    let cuda = &*kernels.cuda;
    let mut memory = kernels.zeros(4);
    let [mut exec, mut second] = [(); 2].map(|()| kernels.on_device("count", values!(memory)).addr() as u64);
    let (mut to, mut too, mut codes) = (FORGET, TAIL, memory + 4);
    let launcher = function(cuda, kernels.module, "launch_two");
    let arguments = &mut [
        argument(&mut exec),
        argument(&mut to),
        argument(&mut second),
        argument(&mut too),
        argument(&mut codes),
    ];
    assert_eq!(launch(cuda, launcher, kernels.stream, arguments), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    // In a capture it is a node.
    let mut captured = null_mut();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.cuStreamBeginCapture(kernels.stream, mode) });
    ok(launch(cuda, launcher, kernels.stream, arguments));
    ok(unsafe { cuda.cuStreamEndCapture(kernels.stream, &mut captured) });
    kernels.run(kernels.instantiate(captured, 0));
    assert_eq!(kernels.words(memory, 3), [2, 0, 0]);
    memory += 12;
    let counter = function(cuda, kernels.module, "count");
    ok(launch(cuda, counter, kernels.stream, &mut [argument(&mut memory)]));
    ok(unsafe { cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!(kernels.words(memory, 1), [1], "all else goes on");
}

/// Undefined on a GPU.
#[test]
fn a_graph_of_another_device_or_without_its_kernel_is_refused() {
    let instance = InstanceOptions::new().devices(2).start().unwrap();
    let kernels = Kernels::of(&instance);
    let cuda = &*kernels.cuda;
    let (own, mut other) = (context(cuda), null_mut());
    let gone = Kernels::of(&instance);
    let memory = gone.zeros(1);
    let unloaded = gone.on_device("count", values!(memory));
    ok(unsafe { cuda.cuModuleUnload(gone.module) });
    assert_eq!(kernels.launch_each(&[unloaded], FORGET), [REFUSED]);
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut other, 1) });
    ok(unsafe { cuda.cuCtxSetCurrent(other) });
    let there = Kernels::current(&gone.cuda);
    let elsewhere = there.on_device("count", values!(there.zeros(1)));
    ok(unsafe { cuda.cuCtxSetCurrent(own) });
    assert_eq!(kernels.launch_each(&[elsewhere], FORGET), [REFUSED]);
    assert_eq!(kernels.words(memory, 1), [0]);
}

/// Launches a graph on an emulator of the test's own; the fault that it ends with.
fn fault(make: impl FnOnce(&Kernels) -> (CUgraphExec, CUdeviceptr)) -> String {
    let instance = Instance::new().unwrap();
    let kernels = Kernels::of(&instance);
    let (exec, counter) = make(&kernels);
    let cuda = &*kernels.cuda;
    ok(unsafe { cuda.cuGraphLaunch(exec, kernels.stream) });
    let code = unsafe { cuda.cuStreamSynchronize(kernels.stream) };
    assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(unsafe { cuda.cuMemFree(counter) }, code, "nothing works any more");
    let faults = instance.faults();
    assert_eq!(faults.len(), 1, "what was in the tail does not run: {faults:?}");
    faults[0].to_string()
}

#[test]
fn what_is_no_graph_for_kernels_is_a_fault() {
    let of = |which: fn(&Kernels, CUdeviceptr) -> u64| {
        fault(|kernels| {
            let counter = kernels.zeros(4);
            let next = kernels.on_device("count", values!(counter));
            let values = values!(next, TAIL, which(kernels, counter), FORGET, counter + 4);
            (kernels.of_host("launch_two", values), counter)
        })
    };
    let report = of(|kernels, counter| kernels.of_host("count", values!(counter)).addr() as u64);
    assert!(report.contains("CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH"), "{report}");
    let report = fault(|kernels| {
        let counter = kernels.zeros(4);
        let exec = kernels.on_device("count", values!(counter));
        (kernels.of_host("launch_below", values!(exec, counter + 4)), counter)
    });
    assert!(report.contains("by a kernel that is no node of a graph itself"), "{report}");
    let report = of(|_, counter| counter);
    assert!(report.contains("which is not an executable graph"), "{report}");
}

#[test]
fn a_fault_of_a_graph_that_a_kernel_launched_is_the_launchs() {
    // Beside a sibling the tail may run.
    for stream in [FORGET, TAIL] {
        let report = fault(|kernels| {
            let (memory, nowhere) = (kernels.zeros(4), 0x10_u64);
            let bad = kernels.on_device("count", values!(nowhere));
            let next = kernels.on_device("add_later", values!(nowhere, memory, 1_u32, 0_u32));
            let values = values!(bad, stream, next, TAIL, memory);
            (kernels.of_host("launch_two", values), memory)
        });
        assert!(report.contains("count"), "{report}");
    }
}

/// A graph that launches itself for ever ends when its context is reset.
#[test]
fn a_reset_ends_what_never_would() {
    let instance = Instance::new().unwrap();
    let kernels = Kernels::of(&instance);
    let (cuda, memory) = (&*kernels.cuda, kernels.zeros(3));
    let exec = kernels.on_device("again", values!(memory, u32::MAX, memory + 4));
    ok(unsafe { cuda.cuGraphLaunch(exec, kernels.stream) });
    assert_eq!(unsafe { cuda.cuStreamQuery(kernels.stream) }, CUresult::CUDA_ERROR_NOT_READY);
    ok(unsafe { cuda.cuDevicePrimaryCtxReset(0) });
    drop(instance);
}
