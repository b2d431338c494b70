//! Memcpy nodes: boxes of bytes between host, device and arrays.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::copy::Copy3d;

entries! {
    cuGraphAddMemcpyNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_MEMCPY3D, context: CUcontext) = add;
    cuGraphMemcpyNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMCPY3D) = get_parameters;
    cuGraphMemcpyNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMCPY3D) = set_parameters;
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_MEMCPY3D>,
    of: CUcontext,
) -> Outcome {
    let made = |call: &Call| {
        let parameters = parameters.read()?;
        living(call, of)?;
        Ok(Work::Copy(Copy3d::read(call, &parameters)?))
    };
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEMCPY3D>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Copy(copy)) = operation else { return Err(INVALID_VALUE) };
        place.set(copy.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_MEMCPY3D>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| {
        let Operation::Work(Work::Copy(copy)) = operation else { return Err(INVALID_VALUE) };
        *copy = Copy3d::read(call, &parameters)?;
        Ok(())
    })
}
