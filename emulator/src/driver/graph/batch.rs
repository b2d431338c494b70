//! Batch memory operation nodes: they wait for numbers in memory and write them.
//!
//! Relies on the caller for the length of the list of operations, and for the member of each union that its operation names: C1 and C2 in
//! `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::sync::Arc;

use super::change::replace;
use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::Context;
use crate::driver::context::current::living;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::memory::values;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::values::Batch;

entries! {
    cuGraphAddBatchMemOpNode(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) = add;
    cuGraphBatchMemOpNodeGetParams(node: CUgraphNode, parameters: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS) = get_parameters;
    cuGraphBatchMemOpNodeSetParams(node: CUgraphNode, parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) = set_parameters;
    cuGraphExecBatchMemOpNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) = set_in_exec;
}

/// The operations that the parameters of a node describe.
///
/// # Safety
///
/// 1. The list is null or has as many operations as the parameters say, of which the member that each names is set.
pub(super) unsafe fn read(call: &Call, parameters: &CUDA_BATCH_MEM_OP_NODE_PARAMS) -> Outcome<Batch> {
    let context: Arc<Context> =
        if parameters.ctx.is_null() { call.context()? } else { living(call, parameters.ctx)? };
    // SAFETY: 1 of both: duty 1; it lasts until the call returns, longer than these values.
    let operations = unsafe {
        let list: In<'_, CUstreamBatchMemOpParams> = FromC::from_c(parameters.paramArray);
        values::read(call.state()?, &list, parameters.count, parameters.flags)?
    };
    Ok(Batch::new(context, operations))
}

fn given(call: &Call, parameters: &In<'_, CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> Outcome<Batch> {
    // SAFETY: 1: the caller's list and its length, by C1 and C2.
    unsafe { read(call, &parameters.read()?) }
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Outcome {
    let made = |call: &Call| Ok(Work::Values(given(call, &parameters)?));
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Values(batch)) = operation else { return Err(INVALID_VALUE) };
        place.set(batch.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> Outcome {
    let new = given(call, &parameters)?;
    call.node(node)?.change(|operation| {
        let Operation::Work(Work::Values(batch)) = operation else { return Err(INVALID_VALUE) };
        *batch = new;
        Ok(())
    })
}

fn set_in_exec(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Outcome {
    replace(call, exec, node, |_| Ok(Work::Values(given(call, &parameters)?)))
}
