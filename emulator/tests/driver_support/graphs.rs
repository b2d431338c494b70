//! What the tests of graphs share.

use super::{argument, ok};
use cuda_driver_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;

pub fn graph(cuda: &Driver) -> CUgraph {
    let mut graph = null_mut();
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    graph
}

pub fn kernel(function: CUfunction, arguments: &mut [*mut c_void]) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: arguments.as_mut_ptr(),
        ..Default::default()
    }
}

/// A node that stores or adds a number.
pub fn number(
    cuda: &Driver,
    graph: CUgraph,
    after: &[CUgraphNode],
    function: CUfunction,
    mut target: CUdeviceptr,
    mut number: u32,
) -> CUgraphNode {
    let mut node = null_mut();
    let mut arguments = [argument(&mut target), argument(&mut number)];
    let parameters = kernel(function, &mut arguments);
    ok(unsafe { cuda.cuGraphAddKernelNode(&mut node, graph, after.as_ptr(), after.len(), &parameters) });
    node
}

pub fn empty(cuda: &Driver, graph: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddEmptyNode(&mut node, graph, after.as_ptr(), after.len()) });
    node
}

pub fn to_host(target: *mut c_void, source: CUdeviceptr, bytes: usize) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: source,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: target,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
        ..Default::default()
    }
}

pub fn instantiate(cuda: &Driver, graph: CUgraph) -> CUgraphExec {
    let mut exec = null_mut();
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
    exec
}

pub fn run(cuda: &Driver, exec: CUgraphExec, stream: CUstream) {
    ok(unsafe { cuda.cuGraphLaunch(exec, stream) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}

/// The nodes of a graph.
pub fn nodes(cuda: &Driver, graph: CUgraph) -> Vec<CUgraphNode> {
    let mut count = 0;
    ok(unsafe { cuda.cuGraphGetNodes(graph, null_mut(), &mut count) });
    let mut nodes = vec![null_mut(); count];
    ok(unsafe { cuda.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) });
    nodes
}
