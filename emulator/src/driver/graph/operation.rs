//! What a node does.

use cuda_driver_sys::CUgraphNodeType;
use std::sync::Arc;

use super::Graph;
use super::conditional::Conditional;
use super::copy::Copy3d;
use super::event::{Points, Signal};
use super::fill::Fill;
use super::host::HostCall;
use super::kernel::KernelCall;
use super::memory::Alloc;
use super::plan::Plan;
use crate::driver::entry::Outcome;
use crate::driver::state::State;
use crate::engine::Fault;

/// What a node does. Copying one is cheap; its graphs are shared by the copies.
#[derive(Clone)]
pub(in crate::driver) enum Operation {
    Kernel(KernelCall),
    Copy(Copy3d),
    Fill(Fill),
    Host(HostCall),
    /// Records an event.
    Record(Signal),
    /// Waits for an event.
    Wait(Signal),
    /// Does all that a graph of its own does.
    Child(Arc<Graph>),
    /// Allocates memory.
    Alloc(Alloc),
    /// Gives memory back.
    Free(u64),
    /// Does what a condition says.
    Conditional(Conditional),
    /// Nothing: a place where edges meet.
    Empty,
}

/// Where and when an operation is done.
pub(super) struct Turn {
    pub(super) state: &'static State,
    /// Handle of the stream.
    pub(super) stream: usize,
    /// What its event nodes make and wait for.
    pub(super) points: Points,
}

impl Operation {
    /// What kind of node it makes.
    pub(super) fn kind(&self) -> CUgraphNodeType {
        match self {
            Operation::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            Operation::Copy(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            Operation::Fill(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            Operation::Host(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            Operation::Record(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Operation::Wait(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Operation::Child(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH,
            Operation::Alloc(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Operation::Free(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
            Operation::Conditional(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
            Operation::Empty => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
        }
    }

    /// The graphs that are a part of it.
    pub(super) fn graphs(&self) -> &[Arc<Graph>] {
        match self {
            Operation::Child(graph) => std::slice::from_ref(graph),
            Operation::Conditional(conditional) => conditional.graphs(),
            _ => &[],
        }
    }

    /// The same for another node, with graphs of its own.
    pub(super) fn duplicate(&self, state: &State) -> Operation {
        match self {
            Operation::Child(graph) => Operation::Child(graph.duplicate(state).embed()),
            other => other.clone(),
        }
    }

    /// What kind of node it makes, in words.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Operation::Kernel(_) => "KERNEL",
            Operation::Copy(_) => "MEMCPY",
            Operation::Fill(_) => "MEMSET",
            Operation::Host(_) => "HOST",
            Operation::Record(_) => "EVENT_RECORD",
            Operation::Wait(_) => "EVENT_WAIT",
            Operation::Child(_) => "GRAPH",
            Operation::Alloc(_) => "MEM_ALLOC",
            Operation::Free(_) => "MEM_FREE",
            Operation::Conditional(_) => "CONDITIONAL",
            Operation::Empty => "EMPTY",
        }
    }

    /// Whether a graph with such a node cannot be cloned.
    pub(super) fn is_unique(&self) -> bool {
        matches!(self, Operation::Alloc(_) | Operation::Free(_) | Operation::Conditional(_))
    }

    /// Whether it allocates or frees.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Operation::Alloc(_) | Operation::Free(_))
    }

    /// Whether it is a kernel.
    pub(super) fn is_kernel(&self) -> bool {
        matches!(self, Operation::Kernel(_))
    }

    /// Whether it can be launched now.
    pub(super) fn check(&self, state: &State) -> Outcome {
        match self {
            Operation::Kernel(kernel) => kernel.check(state),
            Operation::Record(signal) | Operation::Wait(signal) => signal.check(state),
            _ => Ok(()),
        }
    }

    /// Does it, as the part of that node. `inner` are the plans of its graphs.
    pub(super) fn run(&self, node: usize, inner: &[Plan], turn: &Turn) -> Result<(), Box<Fault>> {
        match self {
            Operation::Kernel(kernel) => kernel.run(turn.state),
            Operation::Copy(copy) => copy.run(&turn.state.memory),
            Operation::Fill(fill) => fill.run(&turn.state.memory),
            Operation::Host(call) => {
                call.run(turn.stream);
                Ok(())
            }
            Operation::Record(_) | Operation::Wait(_) => {
                turn.points.reach(node);
                Ok(())
            }
            Operation::Child(_) => inner.iter().try_for_each(|plan| plan.run(turn)),
            Operation::Conditional(conditional) => conditional.run(inner, turn),
            // Memory is there for as long as the graph is.
            Operation::Alloc(_) | Operation::Free(_) | Operation::Empty => Ok(()),
        }
    }
}
