//! Memset nodes.
#![allow(unsafe_code)] // Relies on the caller for the lengths of arrays: C1 in `entry`.

use cuda_driver_sys::*;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::state::{Call, State};
use crate::driver::work::Work;
use crate::driver::work::fill::Fill;

entries! {
    cuGraphAddMemsetNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_MEMSET_NODE_PARAMS, context: CUcontext) = add;
    cuGraphMemsetNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_MEMSET_NODE_PARAMS) = get_parameters;
    cuGraphMemsetNodeSetParams(node: CUgraphNode, parameters: *const CUDA_MEMSET_NODE_PARAMS) = set_parameters;
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_MEMSET_NODE_PARAMS>,
    of: CUcontext,
) -> Outcome {
    let made = |call: &Call| {
        let parameters = parameters.read()?;
        let context = living(call, of)?;
        Ok(Work::Fill(Fill::read(call.state()?, &parameters, context.handle)?))
    };
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_MEMSET_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Fill(fill)) = operation else { return Err(INVALID_VALUE) };
        place.set(fill.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_MEMSET_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_fill(call.state()?, &parameters))
}

impl Operation {
    /// Sets the parameters of a memset node.
    pub(super) fn set_fill(&mut self, state: &State, parameters: &CUDA_MEMSET_NODE_PARAMS) -> Outcome {
        let Operation::Work(Work::Fill(fill)) = self else { return Err(INVALID_VALUE) };
        *fill = fill.changed(state, parameters)?;
        Ok(())
    }
}
