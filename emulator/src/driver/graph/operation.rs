//! What a node does.

use cuda_driver_sys::CUgraphNodeType;

use super::copy::Copy3d;
use super::fill::Fill;
use super::host::HostCall;
use super::kernel::KernelCall;
use crate::driver::entry::Outcome;
use crate::driver::state::State;
use crate::engine::Fault;

/// What a node does. Copying one is cheap, and the copy is another node's own.
#[derive(Clone)]
pub(in crate::driver) enum Operation {
    Kernel(KernelCall),
    Copy(Copy3d),
    Fill(Fill),
    Host(HostCall),
    /// Nothing: a place where edges meet.
    Empty,
}

/// Where and when an operation is done.
pub(super) struct Turn {
    pub(super) state: &'static State,
    /// Handle of the stream.
    pub(super) stream: usize,
}

impl Operation {
    /// What kind of node it makes.
    pub(super) fn kind(&self) -> CUgraphNodeType {
        match self {
            Operation::Kernel(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            Operation::Copy(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            Operation::Fill(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            Operation::Host(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
            Operation::Empty => CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY,
        }
    }

    /// Whether it can be launched now.
    pub(super) fn check(&self, state: &State) -> Outcome {
        match self {
            Operation::Kernel(kernel) => kernel.check(state),
            _ => Ok(()),
        }
    }

    /// Does it.
    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        match self {
            Operation::Kernel(kernel) => kernel.run(turn.state),
            Operation::Copy(copy) => copy.run(&turn.state.memory),
            Operation::Fill(fill) => fill.run(&turn.state.memory),
            Operation::Host(call) => {
                call.run(turn.stream);
                Ok(())
            }
            Operation::Empty => Ok(()),
        }
    }
}
