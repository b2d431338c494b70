//! Nodes of any kind with one structure, whose type selects the member of its union.
//!
//! Relies on the caller to set that member (C2 in `entry`), and for the lengths of arrays (C1).
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::sync::Arc;

use super::conditional::Conditional;
use super::nodes::insert_after;
use super::operation::Operation;
use super::{batch, change, child, edges, kernel};
use crate::driver::context::Context;
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::copy::Copy3d;
use crate::driver::work::event::Signal;
use crate::driver::work::fill::Fill;
use crate::driver::work::host::HostCall;
use crate::driver::work::memory::{Alloc, Free};

entries! {
    cuGraphAddNode_v2(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, data: *const CUgraphEdgeData, count: usize, parameters: *mut CUgraphNodeParams) = add;
    cuGraphAddNode_v1(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *mut CUgraphNodeParams) = add_v1;
    cuGraphNodeSetParams(node: CUgraphNode, parameters: *mut CUgraphNodeParams) = set;
    cuGraphExecNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *mut CUgraphNodeParams) = set_in_exec;
}

/// The operation that such parameters describe. `graph` is the one that the node is or will be in; an old operation's
/// launch attributes stay.
fn read(
    call: &Call,
    graph: CUgraph,
    old: Option<&Operation>,
    parameters: &CUgraphNodeParams,
) -> Outcome<Operation> {
    use CUgraphNodeType as T;
    let state = call.state()?;
    let union = &parameters.__bindgen_anon_1;
    // SAFETY: each arm reads the member that the type selects, which the caller has initialised completely, by C2, because the header says
    // "unused bytes must be zero". All members are numbers and pointers (function pointers may be null), for which any bytes are valid.
    unsafe {
        match parameters.type_ {
            T::CU_GRAPH_NODE_TYPE_KERNEL => {
                let attributes = match old {
                    Some(Operation::Work(Work::Kernel(old))) => old.attributes(),
                    _ => &[],
                };
                Ok(Work::Kernel(kernel::read(call, &ordinary(&union.kernel), attributes)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_MEMCPY => {
                in_context(call, union.memcpy.copyCtx)?;
                Ok(Work::Copy(Copy3d::read(call, &union.memcpy.copyParams)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_MEMSET => {
                let CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx } =
                    union.memset;
                let context = in_context(call, ctx)?;
                let parameters = CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height };
                Ok(Work::Fill(Fill::read(state, &parameters, context.handle)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_HOST => {
                Ok(Work::Host(HostCall::new(union.host.fn_, union.host.userData)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_GRAPH => child::read(call, graph, union.graph.graph),
            T::CU_GRAPH_NODE_TYPE_EMPTY => Ok(Work::Empty.into()),
            T::CU_GRAPH_NODE_TYPE_WAIT_EVENT => {
                Ok(Work::Wait(Signal::new(call, union.eventWait.event)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
                Ok(Work::Record(Signal::new(call, union.eventRecord.event)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_MEM_FREE => Ok(Work::Free(Free::of_graph(union.free.dptr)?).into()),
            T::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                let CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 { ctx, count, paramArray, flags } = union.memOp;
                // SAFETY: 1: the member's list, of as many operations as it says, by C1.
                let parameters = CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx, count, paramArray, flags };
                Ok(Work::Values(batch::read(call, &parameters)?).into())
            }
            T::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | T::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                Err(NOT_SUPPORTED)
            }
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The context that a copy or a fill names; NULL is the current one.
fn in_context(call: &Call, context: CUcontext) -> Outcome<Arc<Context>> {
    if context.is_null() { call.context() } else { living(call, context) }
}

/// The parameters of a kernel in the older structure, which has the same members.
fn ordinary(parameters: &CUDA_KERNEL_NODE_PARAMS_v3) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: parameters.func,
        gridDimX: parameters.gridDimX,
        gridDimY: parameters.gridDimY,
        gridDimZ: parameters.gridDimZ,
        blockDimX: parameters.blockDimX,
        blockDimY: parameters.blockDimY,
        blockDimZ: parameters.blockDimZ,
        sharedMemBytes: parameters.sharedMemBytes,
        kernelParams: parameters.kernelParams,
        extra: parameters.extra,
        kern: parameters.kern,
        ctx: parameters.ctx,
    }
}

/// The parameters of an allocation in the older structure, which has the same members.
fn older(parameters: &CUDA_MEM_ALLOC_NODE_PARAMS_v2) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let CUDA_MEM_ALLOC_NODE_PARAMS_v2 { poolProps, accessDescs, accessDescCount, bytesize, dptr } =
        *parameters;
    CUDA_MEM_ALLOC_NODE_PARAMS { poolProps, accessDescs, accessDescCount, bytesize, dptr }
}

/// The parameters, with zeros where nothing is defined.
fn given(parameters: &Out<'_, CUgraphNodeParams>) -> Outcome<CUgraphNodeParams> {
    let given = parameters.get().ok_or(INVALID_VALUE)?;
    if given.reserved0 == [0; 3] && given.reserved2 == 0 { Ok(given) } else { Err(INVALID_VALUE) }
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    data: In<CUgraphEdgeData>,
    count: usize,
    parameters: Out<CUgraphNodeParams>,
) -> Outcome {
    use CUgraphNodeType as T;
    let mut given = given(&parameters)?;
    // SAFETY: 1: both arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let after = unsafe { edges::read(&after, &data, count)? };
    let made = |call: &Call| {
        let union = &mut given.__bindgen_anon_1;
        // SAFETY: each arm uses the member that the type selects, which the caller has set, by C2, and which consists of numbers and
        // pointers. A reference to it is aligned and exclusive, because `given` is a local of this call.
        unsafe {
            match given.type_ {
                T::CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                    let alloc = Alloc::read(call, &older(&union.alloc))?;
                    union.alloc.dptr = alloc.address();
                    Ok(Work::Alloc(alloc).into())
                }
                T::CU_GRAPH_NODE_TYPE_CONDITIONAL => {
                    Ok(Operation::Conditional(Conditional::read(call, graph, &mut union.conditional)?))
                }
                _ => read(call, graph, None, &given),
            }
        }
    };
    insert_after(call, node, graph, after, made)?;
    // Outputs: the addresses of the node's memory or graphs.
    parameters.set(given);
    Ok(())
}

/// As before CUDA 12.3, when edges had no data.
fn add_v1(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: Out<CUgraphNodeParams>,
) -> Outcome {
    add(call, node, graph, after, In::none(), count, parameters)
}

fn set(call: &Call, node: CUgraphNode, parameters: Out<CUgraphNodeParams>) -> Outcome {
    let given = given(&parameters)?;
    let place = call.node(node)?;
    let graph = to_c(place.graph.handle);
    let old = place.look(|operation| Ok(operation.clone()))?;
    if old.kind() != given.type_ || !old.graphs().is_empty() {
        return Err(INVALID_VALUE);
    }
    let new = read(call, graph, Some(&old), &given)?;
    place.change(|operation| {
        *operation = new;
        Ok(())
    })
}

fn set_in_exec(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: Out<CUgraphNodeParams>,
) -> Outcome {
    let given = given(&parameters)?;
    if given.type_ == CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH {
        // SAFETY: the type, which was just checked, selects this member, a pointer, which the caller has set, by C2.
        return change::set_child(call, exec, node, unsafe { given.__bindgen_anon_1.graph.graph });
    }
    change::replace(call, exec, node, |old| read(call, to_c(0), Some(old), &given))
}
