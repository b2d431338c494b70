//! The operations of nodes.

use cuda_driver_sys::CUgraphNodeType as T;
use std::sync::Arc;

use super::Graph;
use super::conditional::Conditional;
use super::plan::Plan;
use crate::driver::entry::Outcome;
use crate::driver::work::kernel::KernelCall;
use crate::driver::work::updatable::DeviceNode;
use crate::driver::work::{Turn, Work};
use crate::engine::Fault;

/// The operation of a node. Copying one is cheap; its graphs are shared by the copies.
#[derive(Clone)]
pub(super) enum Operation {
    /// Work that a stream could do.
    Work(Work),
    /// Does all that a graph of its own does.
    Child(Arc<Graph>),
    /// Runs graphs depending on a condition.
    Conditional(Conditional),
}

impl From<Work> for Operation {
    fn from(work: Work) -> Operation {
        Operation::Work(work)
    }
}

impl Operation {
    /// What kind of node it makes, for the API and in words.
    fn kind_and_name(&self) -> (T, &'static str) {
        match self {
            Operation::Work(work) => match work {
                Work::Kernel(_) => (T::CU_GRAPH_NODE_TYPE_KERNEL, "KERNEL"),
                Work::Copy(_) => (T::CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY"),
                Work::Fill(_) => (T::CU_GRAPH_NODE_TYPE_MEMSET, "MEMSET"),
                Work::Host(_) => (T::CU_GRAPH_NODE_TYPE_HOST, "HOST"),
                Work::Record(_) => (T::CU_GRAPH_NODE_TYPE_EVENT_RECORD, "EVENT_RECORD"),
                Work::Wait(_) => (T::CU_GRAPH_NODE_TYPE_WAIT_EVENT, "EVENT_WAIT"),
                Work::Alloc(_) => (T::CU_GRAPH_NODE_TYPE_MEM_ALLOC, "MEM_ALLOC"),
                Work::Free(_) => (T::CU_GRAPH_NODE_TYPE_MEM_FREE, "MEM_FREE"),
                Work::Values(_) => (T::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "BATCH_MEM_OP"),
                Work::Empty => (T::CU_GRAPH_NODE_TYPE_EMPTY, "EMPTY"),
            },
            Operation::Child(_) => (T::CU_GRAPH_NODE_TYPE_GRAPH, "GRAPH"),
            Operation::Conditional(_) => (T::CU_GRAPH_NODE_TYPE_CONDITIONAL, "CONDITIONAL"),
        }
    }

    /// What kind of node it makes.
    pub(super) fn kind(&self) -> T {
        self.kind_and_name().0
    }

    /// What kind of node it makes, in words.
    pub(super) fn name(&self) -> &'static str {
        self.kind_and_name().1
    }

    /// The graphs that are a part of it.
    pub(super) fn graphs(&self) -> &[Arc<Graph>] {
        match self {
            Operation::Child(graph) => std::slice::from_ref(graph),
            Operation::Conditional(conditional) => conditional.graphs(),
            Operation::Work(_) => &[],
        }
    }

    /// The same for another node, with its own copies of nested graphs, which are nested in `level` others.
    pub(super) fn duplicate(&self, level: u32) -> Operation {
        match self {
            Operation::Child(graph) => Operation::Child(graph.duplicate(level)),
            other => other.clone(),
        }
    }

    /// Whether a graph with such a node can neither be cloned nor become a child graph.
    pub(super) fn is_unique(&self) -> bool {
        self.is_memory() || matches!(self, Operation::Conditional(_))
    }

    /// The kernel that kernels change, with what they change.
    pub(super) fn updatable(&self) -> Option<(&KernelCall, &DeviceNode)> {
        let Operation::Work(Work::Kernel(kernel)) = self else { return None };
        Some((kernel, kernel.node()?))
    }

    /// Whether it allocates or frees.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Operation::Work(Work::Alloc(_) | Work::Free(_)))
    }

    /// Whether it is a kernel.
    pub(super) fn is_kernel(&self) -> bool {
        matches!(self, Operation::Work(Work::Kernel(_)))
    }

    /// Whether it can be launched now.
    pub(super) fn check(&self) -> Outcome {
        match self {
            Operation::Work(work) => work.check(),
            Operation::Child(_) | Operation::Conditional(_) => Ok(()),
        }
    }

    /// Does it, as the part of that node. `inner` are the plans of its graphs.
    pub(super) fn run(&self, node: usize, inner: &[Plan], turn: &Turn) -> Result<(), Box<Fault>> {
        match self {
            Operation::Work(work) => work.run(node, turn),
            Operation::Child(_) => inner.iter().try_for_each(|plan| plan.run(turn)),
            Operation::Conditional(conditional) => conditional.run(inner, turn),
        }
    }
}
