//! Graphs that kernels can launch: what may be in them, what of them is on the device, and that each runs once at a time.
//!
//! As an H200 with driver 580 answers.

use cuda_driver_sys::{CUgraphInstantiateResult as R, CUgraphNode};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::Graph;
use super::exec::{Exec, Refusal};
use super::operation::Operation;
use super::plan::Plan;
use crate::check::launches::VectorClock;
use crate::driver::context::{CONTEXTS, Context};
use crate::driver::current_work;
use crate::driver::entry::INVALID_VALUE;
use crate::driver::handles::to_c;
use crate::driver::state::{Call, State, lock};
use crate::driver::work::Work;

/// What an executable graph has on its device.
pub(super) struct OnDevice {
    /// The context of its nodes.
    pub(super) context: Arc<Context>,
    state: Mutex<Presence>,
    free: Condvar,
}

#[derive(Default)]
struct Presence {
    /// What launches by kernels do: what was uploaded last, or launched by the host.
    plan: Option<Arc<Plan>>,
    /// Launches that run or that a tail has: at most one, and another one that it has put into its own tail.
    claims: u32,
    /// If races between launches are checked: what is over when the last launch is, which all later ones come behind.
    over: VectorClock,
}

/// One launch of a graph that kernels can launch: until this is dropped there is no other.
pub(super) struct Claim(Arc<Exec>);

impl Claim {
    /// The launch begins, behind those before it.
    pub(super) fn begin(&self) {
        if let Some(device) = &self.0.device {
            current_work::join(&lock(&device.state).over);
        }
    }

    /// All of it is over.
    pub(super) fn end(self) {
        if let Some((device, past)) = self.0.device.as_ref().zip(current_work::past()) {
            lock(&device.state).over = past;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(device) = &self.0.device {
            lock(&device.state).claims -= 1;
            device.free.notify_all();
        }
    }
}

impl OnDevice {
    pub(super) fn new(context: Arc<Context>) -> OnDevice {
        OnDevice { context, state: Mutex::default(), free: Condvar::new() }
    }

    /// What was uploaded.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        lock(&self.state).plan.clone()
    }
}

impl Exec {
    /// From now on launches by kernels do this.
    pub(super) fn set_uploaded(&self, plan: &Arc<Plan>) {
        if let Some(device) = &self.device {
            lock(&device.state).plan = Some(Arc::clone(plan));
        }
    }

    /// A launch by a kernel, of which there are so many before; `None` if there are others.
    pub(super) fn claim(self: &Arc<Self>, before: u32) -> Option<Claim> {
        let mut state = lock(&self.device.as_ref()?.state);
        if state.claims != before {
            return None;
        }
        state.claims += 1;
        Some(Claim(Arc::clone(self)))
    }

    /// A launch by the host. While a kernel's launch runs, what happens on a GPU is undefined; here it waits.
    pub(super) fn claim_for_host(self: &Arc<Self>) -> Option<Claim> {
        let device = self.device.as_ref()?;
        let state = lock(&device.state);
        let is_in_use = |state: &mut Presence| state.claims > 0;
        let mut state = device.free.wait_while(state, is_in_use).unwrap_or_else(PoisonError::into_inner);
        state.claims += 1;
        Some(Claim(Arc::clone(self)))
    }
}

impl Operation {
    /// Whether a kernel can launch a graph with that: what a device does by itself.
    pub(super) fn is_for_devices(&self, state: &State) -> bool {
        match self {
            Operation::Work(Work::Kernel(kernel)) => !kernel.function().kernel.launches_kernels(),
            Operation::Work(Work::Copy(copy)) => copy.is_for_devices(state),
            Operation::Work(Work::Fill(_)) | Operation::Child(_) => true,
            Operation::Work(_) | Operation::Conditional(_) => false,
        }
    }

    /// The handle of the context that it names, if it does.
    fn context(&self) -> Option<usize> {
        match self {
            Operation::Work(Work::Kernel(kernel)) => Some(kernel.function().context.handle),
            Operation::Work(Work::Fill(fill)) => Some(fill.context),
            _ => None,
        }
    }
}

/// Refuses what no kernel can launch; the context of the nodes.
pub(super) fn check(call: &Call, graph: &Graph) -> Result<Arc<Context>, Refusal> {
    let mut seen = Seen::default();
    seen.look(call.state()?, graph)?;
    if seen.nodes == 0 {
        return Err(INVALID_VALUE.into());
    }
    let named = seen.context.and_then(|handle| CONTEXTS.get(handle));
    Ok(named.map_or_else(|| call.context(), Ok)?)
}

/// What the nodes of a graph, and of those in it, are.
#[derive(Default)]
struct Seen {
    /// Kernels, copies and fills.
    nodes: usize,
    /// The first context that one names.
    context: Option<usize>,
}

impl Seen {
    fn look(&mut self, state: &State, graph: &Graph) -> Result<(), Refusal> {
        for (handle, node) in &graph.contents().nodes {
            let node: (CUgraphNode, &Operation) = (to_c(*handle), &node.operation);
            let (node, operation) = node;
            let refuse = |result| Err(Refusal { code: INVALID_VALUE, result, node });
            if !operation.is_for_devices(state) {
                return refuse(R::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
            }
            if let Some(context) = operation.context()
                && *self.context.get_or_insert(context) != context
            {
                return refuse(R::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
            }
            self.nodes += usize::from(operation.graphs().is_empty());
            operation.graphs().iter().try_for_each(|graph| self.look(state, graph))?;
        }
        Ok(())
    }
}
