//! Host nodes: functions of the program.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::host::HostCall;

entries! {
    cuGraphAddHostNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_HOST_NODE_PARAMS) = add;
    cuGraphHostNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_HOST_NODE_PARAMS) = get_parameters;
    cuGraphHostNodeSetParams(node: CUgraphNode, parameters: *const CUDA_HOST_NODE_PARAMS) = set_parameters;
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_HOST_NODE_PARAMS>,
) -> Outcome {
    let made = |_: &Call| Ok(Work::Host(HostCall::read(&parameters.read()?)?));
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_HOST_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Host(host)) = operation else { return Err(INVALID_VALUE) };
        place.set(host.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_HOST_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_host(&parameters))
}

impl Operation {
    /// Sets the function of a host node.
    pub(super) fn set_host(&mut self, parameters: &CUDA_HOST_NODE_PARAMS) -> Outcome {
        let Operation::Work(Work::Host(host)) = self else { return Err(INVALID_VALUE) };
        *host = HostCall::read(parameters)?;
        Ok(())
    }
}
