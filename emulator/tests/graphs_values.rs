//! Batch memory operation nodes.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};
use support::graphs::{graph, instantiate, nodes, run};
use support::*;

type Op = CUstreamBatchMemOpType;
type Params = CUstreamBatchMemOpParams;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// An operation with an address, a value and flags.
fn operation(operation: Op, address: CUdeviceptr, value: u64, flags: u32) -> Params {
    Params { pad: [operation.0.into(), address, value, flags.into(), 0, 0] }
}

fn barrier() -> Params {
    Params { pad: [u64::from(Op::CU_STREAM_MEM_OP_BARRIER.0) | 1 << 32, 0, 0, 0, 0, 0] }
}

fn fields(parameters: &Params) -> [u64; 4] {
    let pad = unsafe { parameters.pad };
    let operation = CUstreamBatchMemOpType(pad[0] as u32);
    let is_wide =
        [Op::CU_STREAM_MEM_OP_WAIT_VALUE_64, Op::CU_STREAM_MEM_OP_WRITE_VALUE_64].contains(&operation);
    let value = if is_wide { pad[2] } else { pad[2] & 0xffff_ffff };
    if operation == Op::CU_STREAM_MEM_OP_BARRIER {
        return [pad[0], 0, 0, 0];
    }
    [operation.0.into(), pad[1], value, pad[3] & 0xffff_ffff]
}

fn node_parameters(context: CUcontext, list: &mut [Params]) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
    CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: context,
        count: list.len() as u32,
        paramArray: list.as_mut_ptr(),
        flags: 0,
    }
}

/// What a node says.
fn told(cuda: &Driver, node: CUgraphNode) -> (CUcontext, Vec<[u64; 4]>) {
    let mut parameters = CUDA_BATCH_MEM_OP_NODE_PARAMS::default();
    ok(unsafe { cuda.cuGraphBatchMemOpNodeGetParams(node, &mut parameters) });
    let list = unsafe { std::slice::from_raw_parts(parameters.paramArray, parameters.count as usize) };
    (parameters.ctx, list.iter().map(fields).collect())
}

#[test]
fn a_node_writes_and_waits_for_numbers() {
    let (cuda, context) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 16));
    write(&cuda, memory, &[0; 16]);
    let (graph, mut node) = (graph(&cuda), null_mut());
    let mut list = [
        operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, 7, 0),
        barrier(),
        operation(Op::CU_STREAM_MEM_OP_WAIT_VALUE_32, memory, 7, 1),
        operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_64, memory + 8, 1 << 40, 0),
    ];
    let mut parameters = node_parameters(context, &mut list);
    ok(unsafe { cuda.cuGraphAddBatchMemOpNode(&mut node, graph, null(), 0, &parameters) });
    let mut kind = CUgraphNodeType(99);
    ok(unsafe { cuda.cuGraphNodeGetType(node, &mut kind) });
    assert_eq!(kind, CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    assert_eq!(told(&cuda, node), (context, list.iter().map(fields).collect()));
    let exec = instantiate(&cuda, graph);
    run(&cuda, exec, stream);
    let expected: Vec<u8> = [7_u64, 1 << 40].iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(read(&cuda, memory, 16), expected);
    // Addresses, values and comparisons of an executable graph change, and not the graph's own.
    list[0] = operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, memory + 4, 9, 0);
    list[2] = operation(Op::CU_STREAM_MEM_OP_WAIT_VALUE_32, memory + 4, 8, 0);
    let change = |parameters: &CUDA_BATCH_MEM_OP_NODE_PARAMS| unsafe {
        cuda.cuGraphExecBatchMemOpNodeSetParams(exec, node, parameters)
    };
    ok(change(&parameters));
    run(&cuda, exec, stream);
    assert_eq!(read(&cuda, memory + 4, 4), 9_u32.to_ne_bytes());
    assert_eq!(told(&cuda, node).1[0][1], memory);
    parameters.count = 3;
    assert_eq!(change(&parameters), INVALID, "their number does not");
    parameters.count = 4;
    list.swap(0, 1);
    assert_eq!(change(&parameters), INVALID, "nor what they are");
    ok(unsafe { cuda.cuGraphBatchMemOpNodeSetParams(node, &parameters) });
    assert_eq!(told(&cuda, node).1, list.iter().map(fields).collect::<Vec<_>>());
    for wrong in [
        CUDA_BATCH_MEM_OP_NODE_PARAMS { count: 0, ..parameters },
        CUDA_BATCH_MEM_OP_NODE_PARAMS { count: 257, ..parameters },
        CUDA_BATCH_MEM_OP_NODE_PARAMS { flags: 1, ..parameters },
        CUDA_BATCH_MEM_OP_NODE_PARAMS { paramArray: null_mut(), ..parameters },
    ] {
        assert_eq!(unsafe { cuda.cuGraphAddBatchMemOpNode(&mut node, graph, null(), 0, &wrong) }, INVALID);
        assert_eq!(unsafe { cuda.cuGraphBatchMemOpNodeSetParams(node, &wrong) }, INVALID);
    }
}

#[test]
fn what_a_stream_waits_for_in_a_capture_is_such_a_node() {
    let (cuda, context) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 8));
    write(&cuda, memory, &[0; 8]);
    let mut captured = null_mut();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { cuda.cuStreamBeginCapture(stream, mode) });
    ok(unsafe { cuda.cuStreamWriteValue32(stream, memory, 5, 0) });
    ok(unsafe { cuda.cuStreamEndCapture(stream, &mut captured) });
    let node = nodes(&cuda, captured)[0];
    let write = u64::from(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32.0);
    assert_eq!(told(&cuda, node), (context, vec![[write, memory, 5, 0]]));
}

#[test]
fn the_structure_for_all_nodes_has_them_too() {
    let (cuda, context) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 8));
    write(&cuda, memory, &[0; 8]);
    let (graph, mut node) = (graph(&cuda), null_mut());
    let mut list = [operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, 3, 0)];
    let mut parameters =
        CUgraphNodeParams { type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, ..Default::default() };
    parameters.__bindgen_anon_1.memOp =
        CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 { ctx: context, count: 1, paramArray: list.as_mut_ptr(), flags: 0 };
    ok(unsafe { cuda.cuGraphAddNode(&mut node, graph, null(), null(), 0, &mut parameters) });
    let exec = instantiate(&cuda, graph);
    run(&cuda, exec, stream);
    assert_eq!(read(&cuda, memory, 4), 3_u32.to_ne_bytes());
    let mut other = [operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, 4, 0)];
    parameters.__bindgen_anon_1.memOp.paramArray = other.as_mut_ptr();
    ok(unsafe { cuda.cuGraphExecNodeSetParams(exec, node, &mut parameters) });
    run(&cuda, exec, stream);
    assert_eq!(read(&cuda, memory, 4), 4_u32.to_ne_bytes());
}

/// A node of one operation.
fn node(cuda: &Driver, context: CUcontext, graph: CUgraph, of: Params) -> CUgraphNode {
    let (mut node, mut list) = (null_mut(), [of]);
    let parameters = node_parameters(context, &mut list);
    ok(unsafe { cuda.cuGraphAddBatchMemOpNode(&mut node, graph, null(), 0, &parameters) });
    node
}

fn waits_for(memory: CUdeviceptr, value: u64) -> Params {
    operation(Op::CU_STREAM_MEM_OP_WAIT_VALUE_32, memory, value, 1)
}

fn writes(memory: CUdeviceptr, value: u64) -> Params {
    operation(Op::CU_STREAM_MEM_OP_WRITE_VALUE_32, memory, value, 0)
}

#[test]
fn a_node_waits_for_the_host() {
    let (cuda, context) = with_own_context();
    let (stream, other, memory) = (stream(&cuda, 1), stream(&cuda, 1), alloc(&cuda, 8));
    write(&cuda, memory, &[0; 8]);
    let graph = graph(&cuda);
    let wait = node(&cuda, context, graph, waits_for(memory, 3));
    let then = node(&cuda, context, graph, writes(memory + 4, 9));
    ok(unsafe { cuda.cuGraphAddDependencies(graph, &wait, &then, null(), 1) });
    ok(unsafe { cuda.cuGraphLaunch(instantiate(&cuda, graph), stream) });
    assert_eq!(unsafe { cuda.cuStreamQuery(stream) }, CUresult::CUDA_ERROR_NOT_READY);
    assert_eq!(read_in(&cuda, other, memory + 4), 0);
    ok(unsafe { cuda.cuStreamWriteValue32(other, memory, 3, 0) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    assert_eq!(read_in(&cuda, other, memory + 4), 9);
}

/// A word, read in a stream that does not wait for others.
fn read_in(cuda: &Driver, stream: CUstream, memory: CUdeviceptr) -> u32 {
    let mut word = 77_u32;
    ok(unsafe { cuda.cuMemcpyDtoHAsync_v2((&raw mut word).cast(), memory, 4, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    word
}

#[test]
fn a_node_waits_for_another_branch() {
    let (cuda, context) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 8));
    write(&cuda, memory, &[0; 8]);
    let inner = graph(&cuda);
    let wait = node(&cuda, context, inner, waits_for(memory, 3));
    let then = node(&cuda, context, inner, writes(memory + 4, 9));
    ok(unsafe { cuda.cuGraphAddDependencies(inner, &wait, &then, null(), 1) });
    // In the graph itself, and in a child of another.
    let (outer, mut child) = (graph(&cuda), null_mut());
    ok(unsafe { cuda.cuGraphAddChildGraphNode(&mut child, outer, null(), 0, inner) });
    for graph in [outer, inner] {
        node(&cuda, context, graph, writes(memory, 3));
        write(&cuda, memory, &[0; 8]);
        run(&cuda, instantiate(&cuda, graph), stream);
        assert_eq!(read(&cuda, memory, 8), [3_u32, 9].map(u32::to_ne_bytes).concat());
    }
}

#[test]
fn a_captured_stream_waits_for_a_forked_one() {
    let (cuda, _) = with_own_context();
    let (first, forked, memory) = (stream(&cuda, 1), stream(&cuda, 1), alloc(&cuda, 8));
    write(&cuda, memory, &[0; 8]);
    let (mut captured, mut fork, mut join) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuEventCreate(&mut fork, 0) });
    ok(unsafe { cuda.cuEventCreate(&mut join, 0) });
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { cuda.cuStreamBeginCapture(first, mode) });
    ok(unsafe { cuda.cuEventRecord(fork, first) });
    ok(unsafe { cuda.cuStreamWaitEvent(forked, fork, 0) });
    ok(unsafe { cuda.cuStreamWaitValue32(first, memory, 1, 1) });
    ok(unsafe { cuda.cuStreamWriteValue32(first, memory + 4, 2, 0) });
    ok(unsafe { cuda.cuStreamWriteValue32(forked, memory, 1, 0) });
    // The streams wait for each other twice.
    ok(unsafe { cuda.cuStreamWaitValue32(forked, memory + 4, 2, 1) });
    ok(unsafe { cuda.cuStreamWriteValue32(forked, memory, 3, 0) });
    ok(unsafe { cuda.cuEventRecord(join, forked) });
    ok(unsafe { cuda.cuStreamWaitEvent(first, join, 0) });
    ok(unsafe { cuda.cuStreamEndCapture(first, &mut captured) });
    run(&cuda, instantiate(&cuda, captured), first);
    assert_eq!(read(&cuda, memory, 8), [3_u32, 2].map(u32::to_ne_bytes).concat());
}
