//! `cuGraphExecUpdate`: an executable graph gets the parameters of a graph of the same shape.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::change::UpdateRefusal;
use super::device;
use super::operation::Operation;
use super::plan::Plan;
use crate::driver::entry::{NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;

entries! {
    cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, result: *mut CUgraphExecUpdateResultInfo) = update;
    cuGraphExecUpdate_v1(exec: CUgraphExec, graph: CUgraph, error_node: *mut CUgraphNode, result: *mut CUgraphExecUpdateResult) = update_v1;
}

/// Why a graph does not fit, and at which of its nodes or edges.
pub(super) struct Difference {
    why: UpdateRefusal,
    node: usize,
    from: usize,
}

impl Plan {
    /// Whether this plan can take over the parameters of that one. Nodes are compared in the order in which they were
    /// made.
    pub(super) fn check_update(&self, new: &Plan) -> Result<(), Difference> {
        use CUgraphExecUpdateResult as R;
        let (old, new) = (self.steps(), new.steps());
        let topology = R::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if old.len() != new.len() {
            return Err(Difference { why: topology, node: 0, from: 0 });
        }
        for (old, step) in old.iter().zip(new) {
            let at = |why| Difference { why, node: step.node, from: 0 };
            let (mut before, mut after) = (old.after.clone(), step.after.clone());
            before.sort_unstable();
            after.sort_unstable();
            if before != after {
                let other = after.iter().find(|index| !before.contains(index));
                let from = other.and_then(|index| new.get(*index)).map_or(0, |step| step.node);
                return Err(Difference { from, ..at(topology) });
            }
            old.operation.check_change(&step.operation).map_err(at)?;
            if old.inner.len() != step.inner.len() {
                return Err(at(R::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED));
            }
            old.inner.iter().zip(&step.inner).try_for_each(|(old, new)| old.check_update(new))?;
        }
        Ok(())
    }

    /// Takes over the parameters of a plan that fits. Steps keep their original nodes, and whether they are disabled.
    pub(super) fn update(&mut self, new: &mut Plan) {
        self.keep_objects_of(new);
        for (step, new) in self.steps_mut().iter_mut().zip(new.steps_mut()) {
            if let (Operation::Conditional(old), Operation::Conditional(new)) =
                (&step.operation, &new.operation)
            {
                new.follows(old);
            }
            step.operation = new.operation.clone();
            step.inner.iter_mut().zip(&mut new.inner).for_each(|(step, new)| step.update(new));
        }
    }
}

fn update(
    call: &Call,
    exec: CUgraphExec,
    graph: CUgraph,
    result: Out<CUgraphExecUpdateResultInfo>,
) -> Outcome {
    let place = result.required()?;
    let exec = call.exec(exec)?;
    let graph = call.graph(graph)?;
    let failure = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    let answer = |result: UpdateRefusal, node: CUgraphNode, from: CUgraphNode| {
        place.set(CUgraphExecUpdateResultInfo { result, errorNode: node, errorFromNode: from });
    };
    let mut new = match Plan::of(&graph) {
        Ok(plan) => plan,
        Err(circle) => {
            answer(UpdateRefusal::CU_GRAPH_EXEC_UPDATE_ERROR, circle.0, to_c(0));
            return Err(failure);
        }
    };
    if exec.device.is_some()
        && let Err(refusal) = device::check(call, &graph)
    {
        let node = call.node(refusal.node);
        let is_kernel =
            node.and_then(|node| node.look(|operation| Ok(operation.is_kernel()))).unwrap_or(false);
        let why = match is_kernel {
            true => UpdateRefusal::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
            false => UpdateRefusal::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
        };
        answer(why, refusal.node, to_c(0));
        return Err(failure);
    }
    if exec.updatable || new.is_updatable() {
        // The result stays that of a success (H200).
        answer(UpdateRefusal::CU_GRAPH_EXEC_UPDATE_SUCCESS, to_c(0), to_c(0));
        return Err(NOT_SUPPORTED);
    }
    let mut inner = exec.inner();
    if let Err(difference) = inner.plan.check_update(&new) {
        answer(difference.why, to_c(difference.node), to_c(difference.from));
        return Err(failure);
    }
    Arc::make_mut(&mut inner.plan).update(&mut new);
    answer(UpdateRefusal::CU_GRAPH_EXEC_UPDATE_SUCCESS, to_c(0), to_c(0));
    Ok(())
}

/// As before CUDA 12.0; later versions also report edges.
fn update_v1(
    call: &Call,
    exec: CUgraphExec,
    graph: CUgraph,
    error_node: Out<CUgraphNode>,
    result: Out<CUgraphExecUpdateResult>,
) -> Outcome {
    let place = result.required()?;
    let mut info = CUgraphExecUpdateResultInfo::default();
    let outcome = update(call, exec, graph, Out::to(&mut info));
    error_node.set(info.errorNode);
    place.set(info.result);
    outcome
}
