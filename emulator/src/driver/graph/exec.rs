//! Executable graphs: instantiating and launching.

use cuda_driver_sys::*;
use std::ffi::c_ulonglong;
use std::sync::{Arc, Mutex, MutexGuard};

use super::device::OnDevice;
use super::environment::{HostLaunch, Start};
use super::operation::Operation;
use super::plan::{Circle, Plan};
use super::{Graph, Node, device, environment, memory};
use crate::driver::counted::counted;
use crate::driver::entry::{INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::handles::{Handles, to_c};
use crate::driver::queue::{Completion, Job};
use crate::driver::since::known_flags;
use crate::driver::slot::{self, PerSlot, per_slot};
use crate::driver::state::{Call, lock};
use crate::driver::work::Work;
use crate::driver::work::memory::Free;

entries! {
    cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) = instantiate_with_flags;
    cuGraphInstantiateWithParams(exec: *mut CUgraphExec, graph: CUgraph, parameters: *mut CUDA_GRAPH_INSTANTIATE_PARAMS) = instantiate_with_parameters;
    cuGraphExecDestroy(exec: CUgraphExec) = destroy;
    cuGraphExecGetFlags(exec: CUgraphExec, flags: *mut cuuint64_t) = get_flags;
    cuGraphLaunch(exec: CUgraphExec, stream: CUstream) = launch;
    cuGraphUpload(exec: CUgraphExec, stream: CUstream) = upload;
}

/// An executable graph.
pub(in crate::driver) struct Exec {
    /// What the program calls it, in kernels, too.
    pub(super) handle: usize,
    flags: u64,
    /// Where kernels can launch it.
    pub(super) device: Option<OnDevice>,
    /// Whether kernels change nodes of it.
    pub(super) updatable: bool,
    inner: Mutex<Inner>,
}

/// What changes.
pub(super) struct Inner {
    /// Launches that are under way hold the plan as it was.
    pub(super) plan: Arc<Plan>,
    /// The previous launch: launches of one executable graph wait for each other.
    last: Option<Arc<Completion>>,
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_*`
const AUTO_FREE: u64 = 1;
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const KNOWN_FLAGS: u64 = 0xf;

pub(in crate::driver) static EXECS: PerSlot<Handles<Exec>> = per_slot!(Handles::new(34));

impl Exec {
    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Kernels change the nodes of that plan from now on, and what the host has said since the last time counts.
    fn upload_nodes(&self, plan: &Plan) {
        if self.updatable {
            plan.updatable(&mut |kernel, node, said| node.upload(kernel, said));
        }
    }
}

impl Call {
    /// The executable graph that a handle means.
    pub(super) fn exec(&self, handle: CUgraphExec) -> Outcome<Arc<Exec>> {
        self.healthy()?;
        EXECS.get(handle.addr()).ok_or(INVALID_VALUE)
    }
}

/// Why a graph could not be instantiated.
pub(super) struct Refusal {
    pub(super) code: CUresult,
    pub(super) result: CUgraphInstantiateResult,
    pub(super) node: CUgraphNode,
}

impl From<CUresult> for Refusal {
    fn from(code: CUresult) -> Self {
        let result = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_ERROR;
        Refusal { code, result, node: to_c(0) }
    }
}

impl From<Circle> for Refusal {
    fn from(circle: Circle) -> Self {
        let result = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        Refusal { code: INVALID_VALUE, result, node: circle.0 }
    }
}

/// Refuses conditions without a node, and nodes in bodies of conditional nodes that need the host.
fn check(graph: &Graph) -> Result<(), Refusal> {
    use CUgraphInstantiateResult as R;
    let contents = graph.contents();
    if !contents.conditions.iter().all(|condition| condition.is_used()) {
        let result = R::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
        return Err(Refusal { code: INVALID_VALUE, result, node: to_c(0) });
    }
    for node in contents.nodes.values() {
        for inner in node.operation.graphs() {
            let conditional = matches!(node.operation, Operation::Conditional(_));
            let nodes = &inner.contents().nodes;
            let wrong = nodes.iter().find(|(_, node)| conditional && !node.operation.is_for_bodies());
            if let Some((node, _)) = wrong {
                let result = R::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
                return Err(Refusal { code: INVALID_VALUE, result, node: to_c(*node) });
            }
        }
        node.operation.graphs().iter().try_for_each(|graph| check(graph))?;
    }
    Ok(())
}

fn instantiate(call: &Call, graph: CUgraph, flags: u64) -> Result<usize, Refusal> {
    let graph = call.graph(graph)?;
    // Launches from a device cannot free memory: no driver accepts both flags.
    let both = AUTO_FREE | DEVICE_LAUNCH;
    known_flags(flags as u32, CUgraphInstantiate_flags)?;
    if flags & !KNOWN_FLAGS != 0 || flags & both == both {
        return Err(INVALID_VALUE.into());
    }
    check(&graph)?;
    let plan = Arc::new(Plan::of(&graph)?);
    let for_kernels = flags & DEVICE_LAUNCH != 0;
    let device = if for_kernels { Some(OnDevice::new(device::check(call, &graph)?)) } else { None };
    // Outlives the lock of the graph, under which nothing of the program's may be dropped.
    let mut previous = Vec::new();
    let mut contents = graph.contents();
    previous.extend(contents.exec.and_then(|exec| EXECS.get(exec)));
    let is_memory = |node: &Node| {
        matches!(node.operation, Operation::Work(Work::Alloc(_) | Work::Free(Free::OfGraph(_))))
    };
    let updatable = plan.is_updatable();
    if !previous.is_empty() && (updatable || contents.nodes.values().any(is_memory)) {
        // The addresses, and the nodes that kernels change, are those of the graph: there is one executable graph at a time.
        return Err(NOT_SUPPORTED.into());
    }
    let handle = EXECS.reserve();
    let inner = Mutex::new(Inner { plan, last: None });
    // Who asks is told neither that it was uploaded nor of priorities (H200).
    let told = flags & both;
    let exec = Arc::new(Exec { handle, flags: told, device, updatable, inner });
    contents.exec = Some(handle);
    EXECS.insert(handle, exec);
    Ok(handle)
}

fn instantiate_with_flags(
    call: &Call,
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    flags: c_ulonglong,
) -> Outcome {
    let place = exec.required()?;
    // A stream to upload in is an argument of the other function only.
    let flags = if flags & UPLOAD != 0 { Err(INVALID_VALUE) } else { Ok(flags) };
    place.set(to_c(instantiate(call, graph, flags?).map_err(|refusal| refusal.code)?));
    Ok(())
}

fn instantiate_with_parameters(
    call: &Call,
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    parameters: Out<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Outcome {
    let place = exec.required()?;
    let mut asked = parameters.get().ok_or(INVALID_VALUE)?;
    let made = instantiate(call, graph, asked.flags);
    (asked.result_out, asked.hErrNode_out) = match &made {
        Ok(_) => (CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS, to_c(0)),
        Err(refusal) => (refusal.result, refusal.node),
    };
    parameters.set(asked);
    let handle = made.map_err(|refusal| refusal.code)?;
    if asked.flags & UPLOAD != 0 {
        upload(call, to_c(handle), asked.hUploadStream)?;
    }
    place.set(to_c(handle));
    Ok(())
}

/// Launches that are under way are done all the same.
fn destroy(call: &Call, exec: CUgraphExec) -> Outcome {
    call.exec(exec)?;
    EXECS.remove(exec.addr());
    Ok(())
}

fn get_flags(call: &Call, exec: CUgraphExec, flags: Out<cuuint64_t>) -> Outcome {
    let exec = call.exec(exec)?;
    flags.required()?.set(exec.flags);
    Ok(())
}

fn launch(call: &Call, exec: CUgraphExec, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    let exec = call.exec(exec)?;
    let state = call.state()?;
    // Driver 580 makes no node of it: that is for `cuGraphAddChildGraphNode`.
    stream.outside()?;
    stream.wait_for_room();
    let mut inner = exec.inner();
    inner.plan.check()?;
    let plan = Arc::clone(&inner.plan);
    let operations = plan.operations();
    let freed = memory::launch(&operations, exec.flags & AUTO_FREE != 0)?;
    let calls = operations.iter().any(|operation| matches!(operation, Operation::Work(Work::Host(_))));
    let (points, counted) = (plan.points(), counted());
    let (state, slot) = (state.clone(), slot::current());
    let launch = HostLaunch { state, stream: stream.handle, slot, counted };
    let own = Arc::clone(&exec);
    let run = move || {
        let claim = own.claim_for_host();
        own.set_uploaded(&plan);
        own.upload_nodes(&plan);
        let outcome = environment::run(launch, Start { exec: own, plan, points, claim });
        drop(freed);
        outcome
    };
    let before = inner.last.take();
    let job = if calls { Job::Call } else { Job::Run };
    inner.last = Some(stream.give_apart_now(before, job(Box::new(run)))?);
    Ok(())
}

/// It takes its turn in the stream, behind earlier launches, as on a GPU, and from now on the memory that launches need is counted. Where
/// kernels can launch the graph, they launch it as it is then.
fn upload(call: &Call, exec: CUgraphExec, stream: CUstream) -> Outcome {
    let (stream, exec) = (call.stream(stream)?, call.exec(exec)?);
    stream.outside()?;
    stream.wait_for_room();
    let inner = exec.inner();
    memory::take(&inner.plan.operations());
    let own = Arc::clone(&exec);
    let now = Arc::clone(&inner.plan);
    let run = move || {
        let plan = Arc::clone(&own.inner().plan);
        own.set_uploaded(&plan);
        own.upload_nodes(&now);
        Ok(())
    };
    let job = if exec.device.is_some() || exec.updatable { Job::Run(Box::new(run)) } else { Job::Point };
    stream.give_apart_now(inner.last.clone(), job).map(|_| ())
}
