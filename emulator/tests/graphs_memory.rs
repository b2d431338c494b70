//! Graphs that allocate, and graphs that decide.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use support::graphs::*;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn properties() -> CUmemPoolProps {
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties
}

/// A node that allocates; it and the address.
fn allocation(cuda: &Driver, graph: CUgraph, bytes: usize) -> (CUgraphNode, CUdeviceptr) {
    let mut parameters =
        CUDA_MEM_ALLOC_NODE_PARAMS { poolProps: properties(), bytesize: bytes, ..Default::default() };
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut parameters) });
    let mut told = CUDA_MEM_ALLOC_NODE_PARAMS::default();
    ok(unsafe { cuda.cuGraphMemAllocNodeGetParams(node, &mut told) });
    assert_eq!((told.dptr, told.bytesize), (parameters.dptr, bytes));
    (node, parameters.dptr)
}

/// What a device says of the memory of graphs, in units of 32 MiB: in use, the most of that, reserved, the most of that.
fn units(cuda: &Driver) -> [u64; 4] {
    use CUgraphMem_attribute as A;
    let attributes = [
        A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
        A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
        A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
    ];
    attributes.map(|attribute| {
        let mut bytes = 0_u64;
        ok(unsafe { cuda.cuDeviceGetGraphMemAttribute(0, attribute, argument(&mut bytes)) });
        assert_eq!(bytes % (32 << 20), 0);
        bytes >> 25
    })
}

/// Gives back what nothing has allocated, and resets the highest values.
fn trim(cuda: &Driver) {
    use CUgraphMem_attribute as A;
    ok(unsafe { cuda.cuDeviceGraphMemTrim(0) });
    for attribute in [A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH] {
        ok(unsafe { cuda.cuDeviceSetGraphMemAttribute(0, attribute, argument(&mut 0_u64)) });
    }
}

/// One test: the counts are of the whole device.
#[test]
fn memory_is_allocated_by_launches_and_freed_once() {
    let (cuda, context) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (store, stream) = (function(&cuda, module, "store"), stream(&cuda, 1));
    // In one graph.
    let both = graph(&cuda);
    let (node, address) = allocation(&cuda, both, 4096);
    let stored = number(&cuda, both, &[node], store, address, 5);
    let mut seen = 0_u32;
    let (mut copied, mut freed) = (null_mut(), null_mut());
    let copy = to_host(argument(&mut seen), address, 4);
    ok(unsafe { cuda.cuGraphAddMemcpyNode(&mut copied, both, &stored, 1, &copy, context) });
    ok(unsafe { cuda.cuGraphAddMemFreeNode(&mut freed, both, &copied, 1, address) });
    let mut again = null_mut();
    assert_eq!(unsafe { cuda.cuGraphAddMemFreeNode(&mut again, both, null(), 0, address) }, INVALID);
    assert_eq!(unsafe { cuda.cuGraphDestroyNode(copied) }, INVALID, "such graphs keep their nodes");
    assert_eq!(unsafe { cuda.cuGraphClone(&mut null_mut(), both) }, INVALID);
    let exec = instantiate(&cuda, both);
    for _ in 0..3 {
        seen = 0;
        run(&cuda, exec, stream);
        assert_eq!((unsafe { std::ptr::read_volatile(&seen) }, units(&cuda)), (5, [1; 4]));
    }
    trim(&cuda);
    assert_eq!(units(&cuda), [0; 4]);
    // Allocated by one graph, freed by the program.
    let one = graph(&cuda);
    let (node, address) = allocation(&cuda, one, 4096);
    number(&cuda, one, &[node], store, address, 6);
    let exec = instantiate(&cuda, one);
    assert_eq!(unsafe { cuda.cuMemFreeAsync(address, stream) }, INVALID, "not allocated yet");
    run(&cuda, exec, stream);
    trim(&cuda);
    assert_eq!(units(&cuda), [1; 4], "it is allocated");
    assert_eq!(unsafe { cuda.cuGraphLaunch(exec, stream) }, INVALID, "still allocated");
    assert_eq!(read(&cuda, address, 4), 6_u32.to_ne_bytes());
    ok(unsafe { cuda.cuMemFreeAsync(address, stream) });
    assert_eq!(unsafe { cuda.cuMemFreeAsync(address, stream) }, INVALID);
    run(&cuda, exec, stream);
    ok(unsafe { cuda.cuMemFree(address) });
    assert_eq!(units(&cuda), [1; 4], "until it is trimmed");
    trim(&cuda);
    assert_eq!(units(&cuda), [0; 4]);
    // Freed by the next launch.
    let mut auto = null_mut();
    let again = unsafe { cuda.cuGraphInstantiateWithFlags(&mut auto, one, 1) };
    assert_eq!(again, CUresult::CUDA_ERROR_NOT_SUPPORTED, "one at a time");
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut auto, one, 1) });
    run(&cuda, auto, stream);
    run(&cuda, auto, stream);
    // What a launch allocated outlives its graph.
    ok(unsafe { cuda.cuGraphExecDestroy(auto) });
    ok(unsafe { cuda.cuGraphDestroy(one) });
    assert_eq!(read(&cuda, address, 4), 6_u32.to_ne_bytes());
    ok(unsafe { cuda.cuMemFree(address) });
    assert_eq!(unsafe { cuda.cuMemFree(address) }, INVALID);
    trim(&cuda);
    captured(&cuda, stream, store);
    sizes(&cuda, stream);
}

/// As an H200 with driver 580 counted (2026-11-29).
fn sizes(cuda: &Driver, stream: CUstream) {
    const MIB: usize = 1 << 20;
    for (bytes, expected) in [(1, 1), (32 * MIB, 1), (32 * MIB + 1, 2), (100 * MIB, 4)] {
        trim(cuda);
        let one = graph(cuda);
        let (node, address) = allocation(cuda, one, bytes);
        ok(unsafe { cuda.cuGraphAddMemFreeNode(&mut null_mut(), one, &node, 1, address) });
        let exec = instantiate(cuda, one);
        assert_eq!(units(cuda), [0; 4], "nothing before a launch");
        ok(unsafe { cuda.cuGraphUpload(exec, stream) });
        assert_eq!(units(cuda), [expected; 4]);
        run(cuda, exec, stream);
        ok(unsafe { cuda.cuGraphExecDestroy(exec) });
        ok(unsafe { cuda.cuGraphDestroy(one) });
        assert_eq!(units(cuda), [expected; 4]);
        ok(unsafe { cuda.cuDeviceGraphMemTrim(0) });
        assert_eq!(units(cuda), [0, expected, 0, expected]);
    }
    // Two graphs: one after the other in the same memory, and what is left allocated beside the other.
    for (left, sizes, expected) in
        [(false, [20, 20], 1), (false, [20, 40], 2), (true, [10, 10], 2), (true, [40, 20], 3)]
    {
        trim(cuda);
        let mut addresses = Vec::new();
        for size in sizes {
            let one = graph(cuda);
            let (node, address) = allocation(cuda, one, size * MIB);
            if !left {
                ok(unsafe { cuda.cuGraphAddMemFreeNode(&mut null_mut(), one, &node, 1, address) });
            }
            run(cuda, instantiate(cuda, one), stream);
            addresses.extend(left.then_some(address));
        }
        assert_eq!(units(cuda), [expected; 4], "{sizes:?}");
        trim(cuda);
        let kept = if left { expected } else { 0 };
        assert_eq!(units(cuda), [kept; 4]);
        addresses.into_iter().for_each(|address| ok(unsafe { cuda.cuMemFree(address) }));
    }
    // What is freed by its next launch counts once.
    trim(cuda);
    let (one, mut exec) = (graph(cuda), null_mut());
    let (_, address) = allocation(cuda, one, 5 * MIB);
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, one, 1) });
    (0..3).for_each(|_| run(cuda, exec, stream));
    assert_eq!(units(cuda), [1; 4]);
    ok(unsafe { cuda.cuMemFree(address) });
    trim(cuda);
    assert_eq!(units(cuda), [0; 4]);
}

/// Allocations in a stream that is captured are the graph's.
fn captured(cuda: &Driver, stream: CUstream, store: CUfunction) {
    let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let outside = {
        let mut address = 0;
        ok(unsafe { cuda.cuMemAllocAsync(&mut address, 64, stream) });
        address
    };
    ok(unsafe { cuda.cuStreamBeginCapture(stream, relaxed) });
    let (mut address, mut value, mut seen) = (0, 9_u32, 0_u32);
    ok(unsafe { cuda.cuMemAllocAsync(&mut address, 64, stream) });
    ok(launch(cuda, store, stream, &mut [argument(&mut address), argument(&mut value)]));
    ok(unsafe { cuda.cuMemcpyDtoHAsync(argument(&mut seen), address, 4, stream) });
    ok(unsafe { cuda.cuMemFreeAsync(address, stream) });
    assert_eq!(unsafe { cuda.cuMemFreeAsync(outside, stream) }, INVALID, "not a graph's");
    let mut graph = null_mut();
    ok(unsafe { cuda.cuStreamEndCapture(stream, &mut graph) });
    assert_eq!(nodes(cuda, graph).len(), 4);
    run(cuda, instantiate(cuda, graph), stream);
    assert_eq!((unsafe { std::ptr::read_volatile(&seen) }, units(cuda)), (9, [1; 4]));
}

/// `decide`: adds one to `*p` and sets the condition to whether it is below the limit.
const DECIDE: &str = "
.version 7.0
.target sm_52
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry decide(.param .u64 handle, .param .u64 p, .param .u32 limit)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [p];
    ld.param.u32 %r1, [limit];
    cvta.to.global.u64 %rd3, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    setp.lt.u32 %p1, %r3, %r1;
    selp.u32 %r4, 1, 0, %p1;
    {
    .param .b64 handle_;
    st.param.b64 [handle_], %rd1;
    .param .b32 value_;
    st.param.b32 [value_], %r4;
    call.uni cudaGraphSetConditional, (handle_, value_);
    }
    ret;
}
";

struct Decisions {
    cuda: Arc<Driver>,
    decide: CUfunction,
    memory: CUdeviceptr,
    stream: CUstream,
}

impl Decisions {
    fn handle(&self, graph: CUgraph, default: impl Into<Option<u32>>) -> CUgraphConditionalHandle {
        let (mut handle, default) = (0, default.into());
        let (value, flags) = (default.unwrap_or(0), u32::from(default.is_some()));
        ok(unsafe { self.cuda.cuGraphConditionalHandleCreate(&mut handle, graph, null_mut(), value, flags) });
        handle
    }

    /// A conditional node; its graphs, or the code.
    fn node(
        &self,
        graph: CUgraph,
        handle: CUgraphConditionalHandle,
        kind: CUgraphConditionalNodeType,
        size: u32,
    ) -> Result<Vec<CUgraph>, CUresult> {
        let node = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        let mut parameters = CUgraphNodeParams { type_: node, ..CUgraphNodeParams::default() };
        parameters.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle,
            type_: kind,
            size,
            phGraph_out: null_mut(),
            ctx: null_mut(),
        };
        let mut node = null_mut();
        let code = unsafe { self.cuda.cuGraphAddNode(&mut node, graph, null(), null(), 0, &mut parameters) };
        if code != CUresult::SUCCESS {
            return Err(code);
        }
        let bodies = unsafe { parameters.__bindgen_anon_1.conditional.phGraph_out };
        Ok((0..size as usize).map(|index| unsafe { bodies.add(index).read() }).collect())
    }

    fn deciding(&self, graph: CUgraph, mut handle: CUgraphConditionalHandle, mut limit: u32) {
        let mut target = self.memory;
        let mut arguments = [argument(&mut handle), argument(&mut target), argument(&mut limit)];
        let parameters = kernel(self.decide, &mut arguments);
        let mut node = null_mut();
        ok(unsafe { self.cuda.cuGraphAddKernelNode(&mut node, graph, null(), 0, &parameters) });
    }

    fn result(&self, graph: CUgraph) -> u32 {
        write(&self.cuda, self.memory, &[0; 4]);
        run(&self.cuda, instantiate(&self.cuda, graph), self.stream);
        u32::from_ne_bytes(read(&self.cuda, self.memory, 4).try_into().unwrap())
    }
}

#[test]
fn conditions_choose_and_repeat() {
    use CUgraphConditionalNodeType as T;
    // The function that sets a condition is in a library of the device's, which is linked to kernels that call it.
    if on_system() {
        return skip::skipped("its kernels are not linked with that library");
    }
    let (cuda, _) = with_own_context();
    let (store, decide) = {
        let module = load(&cuda, KERNELS);
        (function(&cuda, module, "store"), function(&cuda, load(&cuda, DECIDE), "decide"))
    };
    let (memory, stream) = (alloc(&cuda, 4), stream(&cuda, 1));
    let bench = Decisions { cuda: Arc::clone(&cuda), decide, memory, stream };
    let repeat = graph(&cuda);
    let handle = bench.handle(repeat, 1);
    let bodies = bench.node(repeat, handle, T::CU_GRAPH_COND_TYPE_WHILE, 1).unwrap();
    bench.deciding(bodies[0], handle, 7);
    assert_eq!(bench.result(repeat), 7);
    assert_eq!(bench.result(repeat), 7, "the default counts again");
    for (default, expected) in [(0, 22), (3, 11)] {
        let choice = graph(&cuda);
        let handle = bench.handle(choice, default);
        let bodies = bench.node(choice, handle, T::CU_GRAPH_COND_TYPE_IF, 2).unwrap();
        number(&cuda, bodies[0], &[], store, memory, 11);
        number(&cuda, bodies[1], &[], store, memory, 22);
        assert_eq!(bench.result(choice), expected);
    }
    for (default, expected) in [(0, 100), (2, 102), (3, 0)] {
        let choice = graph(&cuda);
        let handle = bench.handle(choice, default);
        let bodies = bench.node(choice, handle, T::CU_GRAPH_COND_TYPE_SWITCH, 3).unwrap();
        for (body, value) in bodies.into_iter().zip(100..) {
            number(&cuda, body, &[], store, memory, value);
        }
        assert_eq!(bench.result(choice), expected);
    }
}

/// In a body, of a condition that was made for the graph around it.
#[test]
fn conditions_of_a_graph_decide_in_its_bodies() {
    use CUgraphConditionalNodeType as T;
    if on_system() {
        return skip::skipped("its kernels are not linked with that library");
    }
    let (cuda, _) = with_own_context();
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let decide = function(&cuda, load(&cuda, DECIDE), "decide");
    let (memory, stream) = (alloc(&cuda, 4), stream(&cuda, 1));
    let bench = Decisions { cuda: Arc::clone(&cuda), decide, memory, stream };
    for (default, expected) in [(0, 22), (1, 11)] {
        let outer = graph(&cuda);
        let (first, second) = (bench.handle(outer, 1), bench.handle(outer, default));
        let body = bench.node(outer, first, T::CU_GRAPH_COND_TYPE_IF, 1).unwrap()[0];
        let bodies = bench.node(body, second, T::CU_GRAPH_COND_TYPE_IF, 2).unwrap();
        assert_eq!(bench.node(body, second, T::CU_GRAPH_COND_TYPE_IF, 1), Err(INVALID), "it has a node");
        number(&cuda, bodies[0], &[], store, memory, 11);
        number(&cuda, bodies[1], &[], store, memory, 22);
        assert_eq!(bench.result(outer), expected);
        // But not the other way round.
        let inner = bench.handle(bodies[0], 1);
        assert_eq!(bench.node(outer, inner, T::CU_GRAPH_COND_TYPE_IF, 1), Err(INVALID));
    }
}

/// An update takes over values and graphs, not another kind of choice.
#[test]
fn executable_choices_are_updated() {
    use CUgraphConditionalNodeType as T;
    if on_system() {
        return skip::skipped("its kernels are not linked with that library");
    }
    let (cuda, _) = with_own_context();
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let (memory, stream) = (alloc(&cuda, 4), stream(&cuda, 1));
    let bench = Decisions { cuda: Arc::clone(&cuda), decide: null_mut(), memory, stream };
    let choice = |kind, default: Option<u32>, first: u32, count: u32| {
        let graph = graph(&cuda);
        let handle = bench.handle(graph, default);
        let bodies = bench.node(graph, handle, kind, count).unwrap();
        for (body, value) in bodies.into_iter().zip(first..) {
            number(&cuda, body, &[], store, memory, value);
        }
        graph
    };
    let (switch, first) =
        (T::CU_GRAPH_COND_TYPE_SWITCH, choice(T::CU_GRAPH_COND_TYPE_SWITCH, Some(0), 100, 2));
    let exec = instantiate(&cuda, first);
    let update = |graph| {
        let mut info = CUgraphExecUpdateResultInfo::default();
        let code = unsafe { cuda.cuGraphExecUpdate(exec, graph, &mut info) };
        (code == CUresult::SUCCESS, info.result)
    };
    let result = || {
        write(&cuda, memory, &[0; 4]);
        run(&cuda, exec, stream);
        u32::from_ne_bytes(read(&cuda, memory, 4).try_into().unwrap())
    };
    assert_eq!(result(), 100);
    let second = choice(switch, Some(1), 200, 2);
    assert!(update(second).0);
    ok(unsafe { cuda.cuGraphDestroy(second) });
    assert_eq!(result(), 201);
    let changed = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    assert_eq!(update(choice(switch, Some(1), 300, 3)), (false, changed), "another number of graphs");
    assert_eq!(update(choice(T::CU_GRAPH_COND_TYPE_IF, Some(1), 300, 2)), (false, changed), "another kind");
    assert_eq!(result(), 201);
    // A value that no launch sets stays what it was.
    assert!(update(choice(switch, None, 400, 2)).0);
    assert_eq!(result(), 401);
}

#[test]
fn conditions_have_one_node_each() {
    use CUgraphConditionalNodeType as T;
    let (cuda, _) = with_own_context();
    let decide = null_mut();
    let bench = Decisions { cuda: Arc::clone(&cuda), decide, memory: 0, stream: null_mut() };
    let (graph, other) = (graph(&cuda), graph(&cuda));
    let handle = bench.handle(graph, 0);
    let mut exec = null_mut();
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS::default();
    let code = unsafe { cuda.cuGraphInstantiateWithParams(&mut exec, graph, &mut parameters) };
    assert_eq!(code, INVALID);
    let unused = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
    assert_eq!(parameters.result_out, unused);
    assert_eq!(bench.node(other, handle, T::CU_GRAPH_COND_TYPE_IF, 1), Err(INVALID), "of another graph");
    assert_eq!(bench.node(graph, handle, T::CU_GRAPH_COND_TYPE_WHILE, 2), Err(INVALID));
    let body = bench.node(graph, handle, T::CU_GRAPH_COND_TYPE_IF, 1).unwrap()[0];
    assert_eq!(bench.node(graph, handle, T::CU_GRAPH_COND_TYPE_IF, 1), Err(INVALID), "it has one");
    assert_eq!(unsafe { cuda.cuGraphDestroy(body) }, INVALID, "it is the node's");
    empty(&cuda, body, &[]);
    instantiate(&cuda, graph);
    let event = event(&cuda, 2);
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddEventRecordNode(&mut node, body, null(), 0, event) });
    let code = unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) };
    assert_ne!(code, CUresult::SUCCESS, "not on the device alone");
}
