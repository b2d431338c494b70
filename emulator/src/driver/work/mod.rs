//! Work that streams perform and graphs keep. Each kind is implemented once, with its checks and its execution.

pub(super) mod copy;
pub(super) mod ends;
pub(super) mod event;
pub(super) mod fill;
pub(super) mod graph_memory;
pub(super) mod host;
pub(super) mod kernel;
pub(super) mod memory;
pub(super) mod recorder;
pub(super) mod shared_event;
pub(super) mod updatable;
pub(super) mod values;

use cuda_driver_sys::{CUdevice, CUresult};

use std::sync::Arc;

use super::counted::Counted;
use super::entry::Outcome;
use super::state::{Call, Shared, State};
use crate::engine::{Fault, GraphLauncher};
use copy::Copy3d;
use event::{Points, Signal};
use fill::Fill;
use host::HostCall;
use kernel::KernelCall;
use memory::{Alloc, Free};
use values::Batch;

/// A piece of work. Copying one is cheap.
#[derive(Clone)]
pub(super) enum Work {
    Kernel(KernelCall),
    Copy(Copy3d),
    Fill(Fill),
    Host(HostCall),
    /// Records an event.
    Record(Signal),
    /// Waits for an event.
    Wait(Signal),
    /// Allocates memory.
    Alloc(Alloc),
    /// Gives memory back.
    Free(Free),
    /// Waits for numbers in memory and writes them.
    Values(Batch),
    /// Nothing: a node where edges meet.
    Empty,
}

/// The stream and the order in which work is done.
pub(super) struct Turn {
    pub(super) state: Shared,
    /// Handle of the stream.
    pub(super) stream: usize,
    /// The function that submitted it to the stream; `None` for work of a graph.
    pub(super) caller: Option<&'static str>,
    /// The points that the event nodes of a graph record and wait for.
    pub(super) points: Option<Points>,
    /// The profiler of its kernels, if the submitting thread requested one.
    pub(super) counted: Option<Counted>,
    /// The graph that it is a part of, as it runs.
    pub(super) graph: Option<Arc<dyn RunningGraph>>,
}

/// A graph while it runs, for its kernels.
pub(super) trait RunningGraph: Send + Sync {
    /// What launches graphs for a kernel of it on that device, which has begun: this thread's work is the kernel.
    fn launcher(self: Arc<Self>, device: CUdevice) -> Box<dyn GraphLauncher>;
}

impl Work {
    /// Whether work of a graph can be launched now.
    pub(super) fn check(&self) -> Outcome {
        match self {
            Work::Kernel(kernel) => kernel.check(),
            Work::Record(signal) | Work::Wait(signal) => signal.check(),
            _ => Ok(()),
        }
    }

    /// Refuses work that only a graph can do: recording an event when it runs, waiting for its state at that time, and memory of
    /// its own.
    pub(super) fn check_stream(&self) -> Outcome {
        match self {
            Work::Record(_) | Work::Wait(_) | Work::Alloc(_) | Work::Free(Free::OfGraph(_)) => {
                Err(CUresult::CUDA_ERROR_ILLEGAL_STATE)
            }
            _ => Ok(()),
        }
    }

    /// Refuses work that writes memory registered as read-only, in streams and graphs.
    pub(super) fn check_target(&self, state: &State) -> Outcome {
        match self {
            Work::Copy(copy) => copy.check_target(state),
            _ => Ok(()),
        }
    }

    /// Its form as a node; refuses work that cannot be a node.
    pub(super) fn into_node(self, call: &Call) -> Outcome<Work> {
        match self {
            Work::Copy(copy) => Ok(Work::Copy(copy.into_node(call.state()?))),
            Work::Fill(fill) => Ok(Work::Fill(fill.into_node(call.state()?, call.context()?.handle))),
            Work::Free(Free::Block(_) | Free::Allocation(_)) => {
                Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
            }
            other => Ok(other),
        }
    }

    /// The same, with a copy of the caller's memory that it reads; called within the call that passed it.
    pub(super) fn detached(self) -> Work {
        match self {
            Work::Copy(copy) => Work::Copy(copy.detached()),
            other => other,
        }
    }

    /// Whether it accesses pageable memory of the caller, which is only valid during the call.
    pub(super) fn is_of_the_call(&self) -> bool {
        matches!(self, Work::Copy(copy) if copy.is_of_the_call())
    }

    /// Does it; in a graph, as the part of that node.
    pub(super) fn run(&self, node: usize, turn: &Turn) -> Result<(), Box<Fault>> {
        match self {
            Work::Kernel(kernel) => kernel.run(turn),
            Work::Copy(copy) => copy.run(turn),
            Work::Fill(fill) => fill.run(turn),
            Work::Host(call) => {
                call.run(turn.stream);
                Ok(())
            }
            Work::Record(_) | Work::Wait(_) => {
                turn.points.iter().for_each(|points| points.reach(node));
                Ok(())
            }
            Work::Free(free) => free.run(turn),
            Work::Values(batch) => batch.run(turn),
            Work::Alloc(alloc) => {
                alloc.run(turn);
                Ok(())
            }
            Work::Empty => Ok(()),
        }
    }
}
