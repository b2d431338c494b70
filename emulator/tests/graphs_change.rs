//! Executable graphs that are changed: node by node, and by another graph; clones and graphs in graphs.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use support::graphs::*;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const UPDATE_FAILURE: CUresult = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;

struct Bench {
    cuda: Arc<Driver>,
    context: CUcontext,
    store: CUfunction,
    add: CUfunction,
    memory: CUdeviceptr,
    stream: CUstream,
}

impl Bench {
    fn new() -> Bench {
        let (cuda, context) = with_own_context();
        let module = load(&cuda, KERNELS);
        let (store, add) = (function(&cuda, module, "store"), function(&cuda, module, "add"));
        let (memory, stream) = (alloc(&cuda, 64), stream(&cuda, 1));
        write(&cuda, memory, &[0; 64]);
        Bench { cuda, context, store, add, memory, stream }
    }

    /// A node that stores, or one that adds.
    fn node(&self, graph: CUgraph, after: &[CUgraphNode], function: CUfunction, value: u32) -> CUgraphNode {
        number(&self.cuda, graph, after, function, self.memory, value)
    }

    fn set(&self, exec: CUgraphExec, node: CUgraphNode, function: CUfunction, mut value: u32) -> CUresult {
        let mut target = self.memory;
        let mut arguments = [argument(&mut target), argument(&mut value)];
        unsafe { self.cuda.cuGraphExecKernelNodeSetParams(exec, node, &kernel(function, &mut arguments)) }
    }

    /// What the launch leaves.
    fn result(&self, exec: CUgraphExec) -> u32 {
        run(&self.cuda, exec, self.stream);
        u32::from_ne_bytes(read(&self.cuda, self.memory, 4).try_into().unwrap())
    }

    fn update(&self, exec: CUgraphExec, graph: CUgraph) -> (CUresult, CUgraphExecUpdateResultInfo) {
        let mut info = CUgraphExecUpdateResultInfo::default();
        (unsafe { self.cuda.cuGraphExecUpdate(exec, graph, &mut info) }, info)
    }
}

#[test]
fn a_kernel_is_changed_without_a_new_instantiation() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let graph = graph(cuda);
    let first = bench.node(graph, &[], bench.store, 5);
    let second = bench.node(graph, &[first], bench.add, 2);
    let exec = instantiate(cuda, graph);
    assert_eq!(bench.result(exec), 7);
    ok(bench.set(exec, second, bench.add, 30));
    assert_eq!(bench.result(exec), 35);
    ok(bench.set(exec, second, bench.store, 30));
    assert_eq!(bench.result(exec), 30);
    assert_eq!(bench.result(instantiate(cuda, graph)), 7, "the graph is as it was");
    // A launch that waits for its turn is done as it was given.
    let held = Busy::new(cuda, bench.stream);
    ok(unsafe { cuda.cuGraphLaunch(exec, bench.stream) });
    ok(bench.set(exec, second, bench.store, 31));
    drop(held);
    ok(unsafe { cuda.cuStreamSynchronize(bench.stream) });
    assert_eq!(read(cuda, bench.memory, 4), 30_u32.to_ne_bytes());
    let other = bench.node(support::graphs::graph(cuda), &[], bench.store, 5);
    assert_eq!(bench.set(exec, other, bench.store, 5), INVALID, "a node of another graph");
}

#[test]
fn copies_and_fills_are_changed_in_one_row() {
    let bench = Bench::new();
    let (cuda, context) = (&bench.cuda, bench.context);
    let graph = graph(cuda);
    let fill = |value, height| CUDA_MEMSET_NODE_PARAMS {
        dst: bench.memory,
        pitch: 8,
        value,
        elementSize: 1,
        width: 4,
        height,
    };
    let (mut filled, mut copied) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuGraphAddMemsetNode(&mut filled, graph, null(), 0, &fill(1, 1), context) });
    let mut seen = [0_u8; 4];
    let mut also = [0_u8; 4];
    let copy = to_host(seen.as_mut_ptr().cast(), bench.memory, 4);
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut copied, graph, &filled, 1, &copy, context) });
    let exec = instantiate(cuda, graph);
    ok(unsafe { cuda.cuGraphExecMemsetNodeSetParams(exec, filled, &fill(3, 1), context) });
    let copy = to_host(also.as_mut_ptr().cast(), bench.memory, 2);
    ok(unsafe { cuda.cuGraphExecMemcpyNodeSetParams(exec, copied, &copy, context) });
    run(cuda, exec, bench.stream);
    assert_eq!((seen, also), ([0; 4], [3, 3, 0, 0]));
    let code = unsafe { cuda.cuGraphExecMemsetNodeSetParams(exec, filled, &fill(3, 2), context) };
    assert_eq!(code, INVALID, "rows");
    let other_way = CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: seen.as_ptr().cast(),
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: bench.memory,
        ..copy
    };
    let code = unsafe { cuda.cuGraphExecMemcpyNodeSetParams(exec, copied, &other_way, context) };
    assert_eq!(code, INVALID, "another direction");
}

/// Whether the driver says that a node cannot be changed so, and whether it took an update by a graph with that node.
fn refuses(cuda: &Driver, context: CUcontext, old: &CUDA_MEMCPY3D, new: &CUDA_MEMCPY3D) -> bool {
    let (graphs, mut nodes) = ([graph(cuda), graph(cuda)], [null_mut(); 2]);
    for ((graph, node), copy) in graphs.iter().zip(&mut nodes).zip([old, new]) {
        ok(unsafe { cuda.cuGraphAddMemcpyNode(node, *graph, null(), 0, copy, context) });
    }
    let set =
        unsafe { cuda.cuGraphExecMemcpyNodeSetParams(instantiate(cuda, graphs[0]), nodes[0], new, context) };
    let mut info = CUgraphExecUpdateResultInfo::default();
    let update = unsafe { cuda.cuGraphExecUpdate(instantiate(cuda, graphs[0]), graphs[1], &mut info) };
    let reason = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    match (set, update) {
        (CUresult::SUCCESS, CUresult::SUCCESS) => false,
        (INVALID, UPDATE_FAILURE) => {
            assert_eq!((info.result, info.errorNode), (reason, nodes[1]));
            true
        }
        other => panic!("the two do not agree: {other:?}"),
    }
}

#[test]
fn copies_stay_between_memory_of_their_kind_and_context() {
    let bench = Bench::new();
    let (cuda, context) = (&bench.cuda, bench.context);
    let (mut pinned, mut managed, mut other) = (null_mut(), 0, null_mut());
    ok(unsafe { cuda.cuMemAllocHost(&mut pinned, 64) });
    ok(unsafe { cuda.cuMemAllocManaged(&mut managed, 64, 1) });
    let mut pageable = [0_u64; 2];
    let mut pooled = 0;
    ok(unsafe { cuda.cuMemAllocAsync(&mut pooled, 64, bench.stream) });
    ok(unsafe { cuda.cuStreamSynchronize(bench.stream) });
    let device = alloc(cuda, 64);
    ok(unsafe { cuda.cuCtxCreate(&mut other, null_mut(), 0, 0) });
    let elsewhere = alloc(cuda, 64);
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let down = |target: *mut u64| to_host(target.cast(), bench.memory, 4);
    let mut again = [0_u64; 2];
    let (to_pageable, to_again) = (down(pageable.as_mut_ptr()), down(again.as_mut_ptr()));
    let from = |source| CUDA_MEMCPY3D { srcDevice: source, ..to_pageable };
    let to_pinned = down(pinned.cast());
    let refuses = |old: &CUDA_MEMCPY3D, new: &CUDA_MEMCPY3D| refuses(cuda, context, old, new);
    assert!(!refuses(&to_pageable, &to_again));
    assert!(!refuses(&to_pageable, &from(device)));
    assert!(refuses(&to_pageable, &from(elsewhere)), "of another context");
    assert!(refuses(&to_pageable, &from(pooled)), "of no context");
    for source in [managed, pinned.addr() as u64] {
        assert!(!refuses(&to_pageable, &from(source)), "memory of the context, whatever it is");
    }
    assert!(
        !refuses(&to_pageable, &to_pinned) && !refuses(&to_pinned, &to_pageable),
        "host memory is host memory"
    );
    // A copy that was captured is one too.
    let stream = bench.stream;
    ok(unsafe { cuda.cuStreamBeginCapture(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) });
    ok(unsafe { cuda.cuMemcpyDtoDAsync(device, bench.memory, 4, stream) });
    let mut captured = null_mut();
    ok(unsafe { cuda.cuStreamEndCapture(stream, &mut captured) });
    let (exec, node) = (instantiate(cuda, captured), nodes(cuda, captured)[0]);
    let across = |source| CUDA_MEMCPY3D {
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: device + 8,
        ..from(source)
    };
    let set = |copy| unsafe { cuda.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context) };
    ok(set(across(device + 16)));
    assert_eq!(set(across(pooled)), INVALID);
}

#[test]
fn of_copies_and_fills_of_rows_only_places_change() {
    let bench = Bench::new();
    let (cuda, context) = (&bench.cuda, bench.context);
    let line = CUDA_MEMCPY3D {
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: alloc(cuda, 64),
        ..to_host(null_mut(), bench.memory, 8)
    };
    let rows = CUDA_MEMCPY3D { Height: 2, srcPitch: 16, dstPitch: 16, ..line };
    assert!(refuses(cuda, context, &line, &rows));
    assert!(refuses(cuda, context, &rows, &line));
    let (one, same, mut node) = (graph(cuda), graph(cuda), null_mut());
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut node, same, null(), 0, &rows, context) });
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut node, one, null(), 0, &rows, context) });
    let exec = instantiate(cuda, one);
    ok(bench.update(exec, same).0);
    let code = unsafe { cuda.cuGraphExecMemcpyNodeSetParams(exec, node, &rows, context) };
    ok(code);
    let planes = CUDA_MEMCPY3D { Depth: 2, srcHeight: 2, dstHeight: 2, Height: 1, ..rows };
    assert!(refuses(cuda, context, &rows, &planes));
    assert!(!refuses(cuda, context, &planes, &planes), "what it has");
    let fill = CUDA_MEMSET_NODE_PARAMS {
        dst: bench.memory,
        pitch: 8,
        value: 1,
        elementSize: 1,
        width: 4,
        height: 2,
    };
    let graph = graph(cuda);
    ok(unsafe { cuda.cuGraphAddMemsetNode(&mut node, graph, null(), 0, &fill, context) });
    let exec = instantiate(cuda, graph);
    let set = |fill| unsafe { cuda.cuGraphExecMemsetNodeSetParams(exec, node, &fill, context) };
    let mut other = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut other, null_mut(), 0, 0) });
    let elsewhere = alloc(cuda, 64);
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    for (wrong, what) in [
        (CUDA_MEMSET_NODE_PARAMS { width: 3, ..fill }, "width"),
        (CUDA_MEMSET_NODE_PARAMS { height: 1, ..fill }, "height"),
        (CUDA_MEMSET_NODE_PARAMS { pitch: 16, ..fill }, "pitch"),
        (CUDA_MEMSET_NODE_PARAMS { elementSize: 2, width: 2, ..fill }, "element"),
        (CUDA_MEMSET_NODE_PARAMS { dst: elsewhere, ..fill }, "memory of another context"),
    ] {
        assert_eq!(set(wrong), INVALID, "{what}");
    }
    ok(set(CUDA_MEMSET_NODE_PARAMS { dst: bench.memory + 4, value: 7, ..fill }));
    run(cuda, exec, bench.stream);
    assert_eq!(read(cuda, bench.memory, 16), [0, 0, 0, 0, 7, 7, 7, 7, 0, 0, 0, 0, 7, 7, 7, 7]);
}

#[test]
fn nodes_are_switched_off_and_on() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let graph = graph(cuda);
    let first = bench.node(graph, &[], bench.store, 5);
    let second = bench.node(graph, &[first], bench.add, 2);
    let join = empty(cuda, graph, &[second]);
    let exec = instantiate(cuda, graph);
    let mut enabled = 9;
    ok(unsafe { cuda.cuGraphNodeGetEnabled(exec, second, &mut enabled) });
    assert_eq!(enabled, 1);
    ok(unsafe { cuda.cuGraphNodeSetEnabled(exec, second, 0) });
    assert_eq!(bench.result(exec), 5);
    ok(unsafe { cuda.cuGraphNodeSetEnabled(exec, second, 1) });
    assert_eq!(bench.result(exec), 7);
    assert_eq!(unsafe { cuda.cuGraphNodeSetEnabled(exec, join, 0) }, INVALID);
}

#[test]
fn a_graph_of_the_same_shape_updates() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let chain = |first, second| {
        let graph = graph(cuda);
        let node = bench.node(graph, &[], bench.store, first);
        (graph, node, bench.node(graph, &[node], bench.add, second))
    };
    let (one, _, last) = chain(5, 2);
    let exec = instantiate(cuda, one);
    let (other, ..) = chain(50, 20);
    let (code, info) = bench.update(exec, other);
    ok(code);
    assert_eq!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
    ok(unsafe { cuda.cuGraphDestroy(other) });
    assert_eq!(bench.result(exec), 70);
    // Its nodes are still called what they were.
    ok(bench.set(exec, last, bench.add, 1));
    assert_eq!(bench.result(exec), 51);
}

#[test]
fn a_graph_of_another_shape_is_refused() {
    use CUgraphExecUpdateResult as U;
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let original = graph(cuda);
    let node = bench.node(original, &[], bench.store, 5);
    bench.node(original, &[node], bench.add, 2);
    let exec = instantiate(cuda, original);
    let longer = graph(cuda);
    let node = bench.node(longer, &[], bench.store, 5);
    let next = bench.node(longer, &[node], bench.add, 2);
    bench.node(longer, &[next], bench.add, 2);
    let unordered = graph(cuda);
    bench.node(unordered, &[], bench.store, 5);
    let loose = bench.node(unordered, &[], bench.add, 2);
    let of_other_kind = graph(cuda);
    let node = bench.node(of_other_kind, &[], bench.store, 5);
    let hollow = empty(cuda, of_other_kind, &[node]);
    for (graph, result, node) in [
        (longer, U::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, null_mut()),
        (unordered, U::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, loose),
        (of_other_kind, U::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, hollow),
    ] {
        let (code, info) = bench.update(exec, graph);
        assert_eq!((code, info.result, info.errorNode), (UPDATE_FAILURE, result, node));
    }
    assert_eq!(bench.result(exec), 7, "nothing changed");
}

#[test]
fn clones_are_independent_and_know_their_originals() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let original = graph(cuda);
    let first = bench.node(original, &[], bench.store, 5);
    let second = bench.node(original, &[first], bench.add, 2);
    let mut clone = null_mut();
    ok(unsafe { cuda.cuGraphClone(&mut clone, original) });
    let mut found = null_mut();
    ok(unsafe { cuda.cuGraphNodeFindInClone(&mut found, second, clone) });
    assert_eq!(nodes(cuda, clone)[1], found);
    ok(unsafe { cuda.cuGraphDestroyNode(second) });
    assert_eq!(bench.result(instantiate(cuda, original)), 5);
    ok(unsafe { cuda.cuGraphDestroy(original) });
    assert_eq!(bench.result(instantiate(cuda, clone)), 7);
    assert_eq!(unsafe { cuda.cuGraphNodeFindInClone(&mut found, found, clone) }, INVALID);
}

#[test]
fn a_graph_is_a_node_of_another() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let (inner, outer) = (graph(cuda), graph(cuda));
    bench.node(inner, &[], bench.add, 10);
    let first = bench.node(outer, &[], bench.store, 5);
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddChildGraphNode(&mut node, outer, &first, 1, inner) });
    bench.node(outer, &[node], bench.add, 100);
    ok(unsafe { cuda.cuGraphDestroy(inner) });
    let exec = instantiate(cuda, outer);
    assert_eq!(bench.result(exec), 115);
    let mut embedded = null_mut();
    ok(unsafe { cuda.cuGraphChildGraphNodeGetGraph(node, &mut embedded) });
    assert_eq!(unsafe { cuda.cuGraphDestroy(embedded) }, INVALID, "it is the node's");
    let inside = nodes(cuda, embedded)[0];
    ok(bench.set(exec, inside, bench.add, 20));
    assert_eq!(bench.result(exec), 125);
    let same = graph(cuda);
    bench.node(same, &[], bench.add, 30);
    ok(unsafe { cuda.cuGraphExecChildGraphNodeSetParams(exec, node, same) });
    assert_eq!(bench.result(exec), 135);
    assert_eq!(unsafe { cuda.cuGraphAddChildGraphNode(&mut node, outer, null(), 0, outer) }, INVALID);
    ok(unsafe { cuda.cuGraphDestroy(outer) });
    assert_eq!(unsafe { cuda.cuGraphNodeGetType(inside, &mut CUgraphNodeType(0)) }, INVALID);
}

#[test]
fn attributes_of_kernel_nodes_are_kept() {
    use CUlaunchAttributeID as A;
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let graph = graph(cuda);
    let (one, other) = (bench.node(graph, &[], bench.store, 5), bench.node(graph, &[], bench.store, 5));
    let mut value = CUlaunchAttributeValue { priority: -3 };
    let id = A::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    ok(unsafe { cuda.cuGraphKernelNodeSetAttribute(one, id, &value) });
    ok(unsafe { cuda.cuGraphKernelNodeCopyAttributes(other, one) });
    value.priority = 77;
    ok(unsafe { cuda.cuGraphKernelNodeGetAttribute(other, id, &mut value) });
    assert_eq!(unsafe { value.priority }, -3);
    let stream_only = A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    assert_eq!(unsafe { cuda.cuGraphKernelNodeSetAttribute(one, stream_only, &value) }, INVALID);
    let mut cluster = CUlaunchAttributeValue::default();
    cluster.clusterDim = CUlaunchAttributeValue_clusterDim { x: 3, y: 1, z: 1 };
    let id = A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    let code = unsafe { cuda.cuGraphKernelNodeSetAttribute(one, id, &cluster) };
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE, "a grid of one block");
}

#[test]
fn nodes_of_any_kind_by_one_structure() {
    let bench = Bench::new();
    let cuda = &bench.cuda;
    let graph = graph(cuda);
    let (mut target, mut value) = (bench.memory, 5_u32);
    let mut arguments = [argument(&mut target), argument(&mut value)];
    let plain = kernel(bench.store, &mut arguments);
    let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
    let mut parameters = CUgraphNodeParams { type_: kind, ..CUgraphNodeParams::default() };
    parameters.__bindgen_anon_1.kernel = CUDA_KERNEL_NODE_PARAMS_v3 {
        func: plain.func,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: plain.kernelParams,
        ..Default::default()
    };
    let mut first = null_mut();
    ok(unsafe { cuda.cuGraphAddNode(&mut first, graph, null(), null(), 0, &mut parameters) });
    let exec = instantiate(cuda, graph);
    unsafe { arguments[1].cast::<u32>().write(6) };
    ok(unsafe { cuda.cuGraphExecNodeSetParams(exec, first, &mut parameters) });
    assert_eq!(bench.result(exec), 6);
    unsafe { arguments[1].cast::<u32>().write(7) };
    ok(unsafe { cuda.cuGraphNodeSetParams(first, &mut parameters) });
    let programmatic = CUgraphEdgeData { from_port: 1, to_port: 0, type_: 1, reserved: [0; 5] };
    let mut second = null_mut();
    let code = unsafe { cuda.cuGraphAddNode(&mut second, graph, &first, &programmatic, 1, &mut parameters) };
    ok(code);
    let (mut before, mut data, mut count) = (null_mut(), CUgraphEdgeData::default(), 1);
    let code = unsafe { cuda.cuGraphNodeGetDependencies(second, &mut before, null_mut(), &mut count) };
    assert_eq!(code, CUresult::CUDA_ERROR_LOSSY_QUERY);
    ok(unsafe { cuda.cuGraphNodeGetDependencies(second, &mut before, &mut data, &mut count) });
    assert_eq!((before, data.type_, count), (first, 1, 1));
    assert_eq!(bench.result(instantiate(cuda, graph)), 7);
    let mut wrong = CUgraphNodeParams { reserved2: 1, ..parameters };
    assert_eq!(unsafe { cuda.cuGraphNodeSetParams(first, &mut wrong) }, INVALID);
    let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
    let mut wrong = CUgraphNodeParams { type_: kind, ..CUgraphNodeParams::default() };
    assert_eq!(unsafe { cuda.cuGraphNodeSetParams(first, &mut wrong) }, INVALID);
    let code = unsafe { cuda.cuGraphAddNode(&mut second, graph, &first, &programmatic, 1, &mut wrong) };
    assert_eq!(code, INVALID, "a programmatic edge to a node that is no kernel");
}
