//! Changing the nodes of an executable graph: this affects the next launch, not launches in progress.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::Arc;

use super::operation::Operation;
use super::plan::{Plan, Step};
use super::{device, kernel};
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::copy::Copy3d;
use crate::driver::work::event::Signal;
use crate::driver::work::fill::Fill;
use crate::driver::work::host::HostCall;

entries! {
    cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS) = set_kernel;
    cuGraphExecKernelNodeSetParams_v1(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS_v1) = set_kernel_v1;
    cuGraphExecMemcpyNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_MEMCPY3D, context: CUcontext) = set_copy;
    cuGraphExecMemsetNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_MEMSET_NODE_PARAMS, context: CUcontext) = set_fill;
    cuGraphExecHostNodeSetParams(exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_HOST_NODE_PARAMS) = set_host;
    cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) = set_child;
    cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) = set_record;
    cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) = set_wait;
    cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) = set_enabled;
    cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: *mut c_uint) = get_enabled;
}

/// Why an operation of an executable graph cannot become another one.
pub(super) type UpdateRefusal = CUgraphExecUpdateResult;

impl Operation {
    /// Refuses changes that are not allowed in an executable graph: of the kind of memory and the rows of a copy or fill, of a
    /// kernel's context, and from a kernel that does not change nodes to one that does.
    pub(super) fn check_change(&self, new: &Operation) -> Result<(), UpdateRefusal> {
        use CUgraphExecUpdateResult as R;
        let good = match (self, new) {
            (Operation::Work(Work::Kernel(old)), Operation::Work(Work::Kernel(new))) => {
                let begins_to_update =
                    new.function().kernel.updates_nodes() && !old.function().kernel.updates_nodes();
                if old.function().context.id != new.function().context.id || begins_to_update {
                    return Err(R::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
                }
                if old.is_cooperative() != new.is_cooperative() {
                    return Err(R::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
                }
                true
            }
            (Operation::Work(Work::Copy(old)), Operation::Work(Work::Copy(new))) => {
                // A copy of several rows must be the same.
                old.can_become(new) && (old == new || old.is_line() && new.is_line())
            }
            (Operation::Work(Work::Fill(old)), Operation::Work(Work::Fill(new))) => old.can_become(new),
            (Operation::Work(Work::Values(old)), Operation::Work(Work::Values(new))) => {
                old.context.id == new.context.id && old.can_become(new)
            }
            _ if self.kind() != new.kind() => {
                return Err(R::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
            }
            // Whatever value decides from now on; its graphs are compared next.
            (Operation::Conditional(old), Operation::Conditional(new)) => old.is_like(new),
            _ if self.is_unique() => return Err(R::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED),
            _ => true,
        };
        if good { Ok(()) } else { Err(R::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED) }
    }
}

/// Changes the step of a node.
fn change(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    change: impl FnOnce(&mut Step) -> Outcome,
) -> Outcome {
    let exec = call.exec(exec)?;
    call.node(node)?;
    let mut inner = exec.inner();
    change(Arc::make_mut(&mut inner.plan).step(node.addr()).ok_or(INVALID_VALUE)?)
}

/// Gives a step another operation of its kind.
pub(super) fn replace<O: Into<Operation>>(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    make: impl FnOnce(&Operation) -> Outcome<O>,
) -> Outcome {
    let (for_kernels, state) = (call.exec(exec)?.device.is_some(), call.state()?);
    change(call, exec, node, |step| {
        let new = make(&step.operation)?.into();
        if for_kernels && !new.is_for_devices(state) {
            return Err(INVALID_VALUE);
        }
        step.operation.check_change(&new).map_err(|_| INVALID_VALUE)?;
        step.operation = new;
        step.said.kernel_now();
        Ok(())
    })
}

fn set_kernel(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_KERNEL_NODE_PARAMS>,
) -> Outcome {
    let parameters = parameters.read()?;
    replace(call, exec, node, |old| {
        let Operation::Work(Work::Kernel(old)) = old else { return Err(INVALID_VALUE) };
        Ok(Work::Kernel(kernel::read(call, &parameters, old.attributes())?))
    })
}

fn set_kernel_v1(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Outcome {
    set_kernel(call, exec, node, In::of(&kernel::with_v1(&parameters.read()?)))
}

fn set_copy(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_MEMCPY3D>,
    of: CUcontext,
) -> Outcome {
    let parameters = parameters.read()?;
    living(call, of)?;
    replace(call, exec, node, |_| Ok(Work::Copy(Copy3d::read(call, &parameters)?)))
}

fn set_fill(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_MEMSET_NODE_PARAMS>,
    of: CUcontext,
) -> Outcome {
    let parameters = parameters.read()?;
    let context = living(call, of)?;
    let state = call.state()?;
    replace(call, exec, node, |_| Ok(Work::Fill(Fill::read(state, &parameters, context.handle)?)))
}

fn set_host(
    call: &Call,
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_HOST_NODE_PARAMS>,
) -> Outcome {
    let parameters = parameters.read()?;
    replace(call, exec, node, |_| Ok(Work::Host(HostCall::read(&parameters)?)))
}

/// The child must have the same shape as the one that the node has.
pub(super) fn set_child(call: &Call, exec: CUgraphExec, node: CUgraphNode, child: CUgraph) -> Outcome {
    let graph = call.graph(child)?;
    if call.exec(exec)?.device.is_some() {
        device::check(call, &graph).map_err(|refusal| refusal.code)?;
    }
    let mut new = Plan::of(&graph).map_err(|_| INVALID_VALUE)?;
    change(call, exec, node, |step| {
        let (Operation::Child(_), Some(plan)) = (&step.operation, step.inner.first_mut()) else {
            return Err(INVALID_VALUE);
        };
        if plan.is_updatable() || new.is_updatable() {
            return Err(NOT_SUPPORTED);
        }
        plan.check_update(&new).map_err(|_| INVALID_VALUE)?;
        plan.update(&mut new);
        Ok(())
    })
}

fn set_record(call: &Call, exec: CUgraphExec, node: CUgraphNode, event: CUevent) -> Outcome {
    let signal = Signal::new(call, event)?;
    replace(call, exec, node, |_| Ok(Work::Record(signal)))
}

fn set_wait(call: &Call, exec: CUgraphExec, node: CUgraphNode, event: CUevent) -> Outcome {
    let signal = Signal::new(call, event)?;
    replace(call, exec, node, |_| Ok(Work::Wait(signal)))
}

/// Kernels, copies and fills can be disabled: then they do nothing, but keep their dependencies.
fn can_be_disabled(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Work(Work::Kernel(_)) | Operation::Work(Work::Copy(_)) | Operation::Work(Work::Fill(_))
    )
}

fn set_enabled(call: &Call, exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) -> Outcome {
    change(call, exec, node, |step| {
        if !can_be_disabled(&step.operation) {
            return Err(INVALID_VALUE);
        }
        step.enabled = enabled != 0;
        step.said.enabled_now();
        Ok(())
    })
}

fn get_enabled(call: &Call, exec: CUgraphExec, node: CUgraphNode, enabled: Out<c_uint>) -> Outcome {
    let place = enabled.required()?;
    change(call, exec, node, |step| {
        if !can_be_disabled(&step.operation) {
            return Err(INVALID_VALUE);
        }
        place.set(c_uint::from(step.enabled));
        Ok(())
    })
}
