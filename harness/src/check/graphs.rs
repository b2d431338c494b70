//! What the nodes of graphs copy, fill and launch, and so what a launch of a graph does.
//!
//! Only what is certain is kept. If nodes are changed in a way that is not tracked, everything known about their graph is discarded, and
//! its launches are assumed to order as much as they may.
//!
//! Relies on: the program upholds the contract of the function that it calls, as far as the driver requires it: structures that
//! arguments point to exist.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::launch::Launch;
use super::order::Stream;
use super::peers::{Asked, Reach};
use super::rule::{Finding, Rule};
use super::sides::{Side, Structure, Where, fill_of_node, planes_of_node};
use super::state::State;
use super::walk::How;
use super::work::waits_in_a_graph;
use crate::kind::Kind;
use crate::launch::Raw;
use crate::objects::{New, Place, Quick};
use cuda_driver_sys::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v3, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUgraphNode, CUgraphNodeParams, CUgraphNodeType, CUresult,
    CUstreamCaptureStatus,
};
use std::collections::HashMap;
use std::mem::offset_of;
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

/// What a node does whenever its graph is launched.
#[derive(Clone)]
pub(super) struct NodeWork {
    /// The node's handle, in the graph in which it was created; 0 if it is not known.
    node: u64,
    /// A description, with the call that created it.
    what: Arc<str>,
    /// The memory and arrays that it uses.
    sides: Vec<Side>,
    /// The memory that a kernel may not reach.
    reach: Option<Arc<Reach>>,
    /// Whether it is disabled in this executable graph.
    is_off: bool,
}

impl NodeWork {
    fn of_launch(call: &Call<'_>, launch: &Launch) -> NodeWork {
        let used = launch.touches.iter().filter(|touch| touch.how != How::Shared);
        let work = NodeWork::of(call, &launch.kernel.name, used.map(Side::touched).collect());
        NodeWork { reach: launch.reach.clone(), ..work }
    }

    fn of(call: &Call<'_>, what: &str, sides: Vec<Side>) -> NodeWork {
        let what = format!("{what} (a node since call {})", call.number).into();
        NodeWork { node: 0, what, sides, reach: None, is_off: false }
    }
}

/// What is known about a graph or an executable graph.
#[derive(Clone, Default)]
pub(super) struct Nodes {
    work: Vec<NodeWork>,
    /// The first work of each node whose handle is known.
    by_node: HashMap<u64, usize, Quick>,
    /// Whether it may have nodes that order more than its own work, or unknown nodes.
    is_opaque: bool,
}

impl Nodes {
    fn opaque() -> Nodes {
        Nodes { is_opaque: true, ..Nodes::default() }
    }

    fn push(&mut self, work: NodeWork) {
        if work.node != 0 {
            self.by_node.entry(work.node).or_insert(self.work.len());
        }
        self.work.push(work);
    }

    /// The work of a node, if it is known. In a clone it may be recorded under the handle of the original node.
    fn work_of(&mut self, node: u64, original: Option<u64>) -> Option<&mut NodeWork> {
        let at = self.by_node.get(&node).or_else(|| self.by_node.get(&original?))?;
        self.work.get_mut(*at)
    }

    /// The work of a launch.
    fn enabled(&self) -> impl Iterator<Item = &NodeWork> {
        self.work.iter().filter(|work| !work.is_off)
    }

    fn append(&mut self, other: Nodes) {
        self.is_opaque |= other.is_opaque;
        other.work.into_iter().for_each(|work| self.push(work));
    }
}

/// The nodes of a capture in progress.
#[derive(Default)]
pub(super) struct Capture {
    nodes: Nodes,
    /// Whether they are added to an existing graph.
    adds: bool,
    /// Whether it is of a kind that is not tracked.
    is_other: bool,
}

/// The capture of which a call has become part: its number, and the node; 0 if unknown.
#[derive(Clone, Copy, Default)]
pub(super) struct Captured {
    pub(super) id: u64,
    pub(super) node: u64,
}

/// What a call specifies for the node that it creates or changes.
pub(super) enum Node {
    Does(NodeWork),
    /// All work of another graph.
    Child(u64),
    Nothing,
    /// It may order work outside of its graph, or its work is unknown.
    Other,
}

/// The same, in the form that the program passes.
enum Passed {
    Sides(&'static str, Vec<Side>),
    Kernel(Raw),
    Child(u64),
    Nothing,
    Other,
}

/// The result of inspecting a node: what is wrong with it, and its work.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) node: Option<Node>,
    /// Whether it copies, fills or launches, so that the call may be refused.
    pub(super) is_work: bool,
}

impl Inner {
    /// Inspects the node that a call creates or changes, before the driver gets the call.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds.
    pub(super) unsafe fn node(&self, call: &Call<'_>, findings: &mut Vec<Finding>) -> Looked {
        // SAFETY: 1: duty 1.
        let Some(passed) = (unsafe { passed(call) }) else { return Looked::default() };
        let (node, is_work) = match passed {
            Passed::Sides(what, sides) => {
                findings.extend(self.past_the_end(call, &sides));
                (Node::Does(NodeWork::of(call, what, sides)), true)
            }
            Passed::Kernel(raw) => {
                // SAFETY: 1: the parameters of a node are those of a launch, whose contract holds by duty 1; `raw` was read from them.
                let launch = unsafe { self.launch(call, &raw, findings) };
                (Node::Does(NodeWork::of_launch(call, &launch)), true)
            }
            Passed::Child(graph) => (Node::Child(graph), false),
            Passed::Nothing => (Node::Nothing, false),
            Passed::Other => (Node::Other, false),
        };
        Looked { node: Some(node), is_work }
    }

    /// The capture that a stream takes part in, identified by its number, which the driver returns in a local of this call.
    ///
    /// # Safety
    ///
    /// 1. It is the stream of a call in progress that has not destroyed it, and whose contract is upheld.
    pub(super) unsafe fn capture_of(&self, stream: u64) -> Captured {
        let mut captured = Captured::default();
        // SAFETY: 1: duty 1; 2: null.
        unsafe { self.ask_capture(stream, &mut captured.id, null_mut(), null_mut()) };
        captured
    }

    /// The capture of which a call on a stream has become part, and its node: the only one that the next call on the stream will depend
    /// on. The node is unknown while another thread makes a call that may be captured, too.
    ///
    /// # Safety
    ///
    /// 1. As for [`capture_of`](Self::capture_of); and the call is counted in [`State::capturing`].
    pub(super) unsafe fn captured(&self, stream: u64) -> Captured {
        // SAFETY: 1: duty 1.
        let mut captured = unsafe { self.capture_of(stream) };
        // Held while the driver is called: another thread that is about to add to the capture waits for it. None of them holds a lock of
        // the driver's meanwhile.
        let state = self.lock();
        if captured.id == 0 || state.capturing != 1 {
            return captured;
        }
        let (mut nodes, mut count) = (null(), 0);
        // SAFETY: 1: duty 1; 2: the outputs are locals of this function.
        let is_known = unsafe { self.ask_capture(stream, &mut 0, &mut nodes, &mut count) };
        if is_known && !nodes.is_null() && count == 1 {
            // SAFETY: the driver has just returned that there is one node, in a list that stays valid until a call changes the capture:
            // by duty 1 and the count this is the only such call in progress, and every other one takes the lock before it calls the
            // driver.
            captured.node = unsafe { nodes.read() }.expose_provenance() as u64;
        }
        captured
    }

    /// Queries the number of a capture, and the nodes that the next call depends on.
    ///
    /// # Safety
    ///
    /// 1. As for [`capture_of`](Self::capture_of).
    /// 2. The last two are null or valid outputs of their types.
    unsafe fn ask_capture(
        &self,
        stream: u64,
        id: &mut u64,
        nodes: *mut *const CUgraphNode,
        count: *mut usize,
    ) -> bool {
        let mut status = CUstreamCaptureStatus(0);
        let (handle, none) = (with_exposed_provenance_mut(stream as usize), null_mut());
        // SAFETY: the outputs outlive the calls, or are null, which means not requested: duty 2; the stream is live, by duty 1.
        let answer = unsafe {
            match self.base.has("cuStreamGetCaptureInfo_v3") {
                true => self.base.cuStreamGetCaptureInfo_v3(
                    handle,
                    &mut status,
                    id,
                    none,
                    nodes,
                    null_mut(),
                    count,
                ),
                false => self.base.cuStreamGetCaptureInfo_v2(handle, &mut status, id, none, nodes, count),
            }
        };
        answer == CUresult::SUCCESS
    }

    /// Memory that a node of the launched graph uses and that has been freed.
    pub(super) fn freed_in_graph(&self, call: &Call<'_>) -> Option<Finding> {
        if call.function.name != "cuGraphLaunch" {
            return None;
        }
        let mut suspects = Vec::new();
        {
            let state = self.lock();
            let graph = state.objects.find(Kind::ExecutableGraph, call.word(0))?;
            for work in state.graphs.get(&graph).into_iter().flat_map(Nodes::enabled) {
                for side in work.sides.iter().filter(|side| !side.size.is_empty()) {
                    let Where::Memory { start: address, .. } = side.place else { continue };
                    let object =
                        state.objects.memory_at(address).and_then(|(place, _)| state.objects.at(place));
                    let Some((object, ended)) = object.and_then(|object| Some((object, object.ended_by?)))
                    else {
                        continue;
                    };
                    let text = format!("{} uses {}, which call {ended} freed", work.what, object.name);
                    suspects.push((address, object.name.kind(), text));
                }
            }
        }
        let is_wrong = |(address, kind, _): &(u64, Kind, String)| self.is_gone(*address, *kind);
        suspects.into_iter().find(is_wrong).map(|(_, _, text)| call.finding(Rule::UseAfterFree, text))
    }

    /// Memory that a kernel of the launched graph uses and that its device cannot access, for the first such node.
    pub(super) fn unreached_in_graph(&self, call: &Call<'_>) -> Vec<Finding> {
        if call.function.name != "cuGraphLaunch" {
            return Vec::new();
        }
        let state = self.lock();
        let graph = state.objects.find(Kind::ExecutableGraph, call.word(0));
        let nodes = graph.and_then(|graph| state.graphs.get(&graph));
        let with_reach = |work: &NodeWork| Some((work.what.clone(), work.reach.clone()?));
        let works: Vec<_> = nodes.into_iter().flat_map(Nodes::enabled).filter_map(with_reach).collect();
        drop(state);
        let mut asked = Asked::new();
        for (what, reach) in works {
            let found = self.out_of_reach(call, &reach, &mut asked);
            if !found.is_empty() {
                let named = |one: Finding| Finding { message: format!("{what}: {}", one.message), ..one };
                return found.into_iter().map(named).collect();
            }
        }
        Vec::new()
    }
}

impl State {
    /// What is known about the graph with this handle.
    fn nodes_of(&self, kind: Kind, handle: u64) -> Nodes {
        let known = self.objects.find(kind, handle).and_then(|place| self.graphs.get(&place));
        known.cloned().unwrap_or_else(Nodes::opaque)
    }

    fn set_nodes(&mut self, kind: Kind, handle: u64, nodes: Nodes) {
        if let Some(place) = self.objects.find(kind, handle) {
            self.graphs.insert(place, nodes);
        }
    }

    /// The graph that a node is in.
    fn graph_of(&self, node: u64) -> Option<Place> {
        self.objects.at(self.objects.find(Kind::GraphNode, node)?)?.owner
    }

    /// Records a successful call that created or changed a graph.
    pub(super) fn graph_changed(&mut self, call: &Call<'_>, made: u64, node: Option<Node>) {
        let name = call.function.name;
        match (name, node) {
            ("cuGraphCreate", _) => self.set_nodes(Kind::Graph, made, Nodes::default()),
            ("cuGraphClone", _) => {
                let nodes = self.nodes_of(Kind::Graph, call.word(1));
                self.set_nodes(Kind::Graph, made, nodes);
            }
            ("cuGraphInstantiateWithFlags" | "cuGraphInstantiateWithParams", _) => {
                let nodes = self.nodes_of(Kind::Graph, call.word(1));
                self.set_nodes(Kind::ExecutableGraph, made, nodes);
            }
            ("cuGraphExecUpdate_v1" | "cuGraphExecUpdate_v2", _) => {
                // No documentation says whether disabled nodes remain disabled.
                let known = self.nodes_of(Kind::ExecutableGraph, call.word(0));
                let is_whole = known.enabled().count() == known.work.len();
                let nodes = if is_whole { self.nodes_of(Kind::Graph, call.word(1)) } else { Nodes::opaque() };
                self.set_nodes(Kind::ExecutableGraph, call.word(0), nodes);
            }
            ("cuGraphNodeSetEnabled", _) => self.switched(call),
            ("cuGraphExecChildGraphNodeSetParams", _) => {
                self.set_nodes(Kind::ExecutableGraph, call.word(0), Nodes::opaque());
            }
            ("cuGraphNodeFindInClone", _) => self.found_in_clone(call, made),
            ("cuGraphDestroyNode" | "cuGraphChildGraphNodeGetGraph", _) => {
                let graph = self.graph_of(call.word(0));
                self.change(graph, call.word(0), None);
            }
            (_, Some(node)) if name.starts_with("cuGraphAdd") => {
                let added = match node {
                    Node::Does(work) => {
                        Nodes { work: vec![NodeWork { node: made, ..work }], ..Nodes::default() }
                    }
                    Node::Child(graph) => self.nodes_of(Kind::Graph, graph),
                    Node::Nothing => Nodes::default(),
                    Node::Other => Nodes::opaque(),
                };
                if let Some(graph) = self.objects.find(Kind::Graph, call.word(1)) {
                    // In place, because the graph may already have many nodes.
                    self.graphs.entry(graph).or_insert_with(Nodes::opaque).append(added);
                }
            }
            (_, Some(node)) => {
                let is_exec = name.starts_with("cuGraphExec");
                let handle = call.word(usize::from(is_exec));
                let graph = match is_exec {
                    true => self.objects.find(Kind::ExecutableGraph, call.word(0)),
                    false => self.graph_of(handle),
                };
                let work = if let Node::Does(work) = node { Some(work) } else { None };
                self.change(graph, handle, work);
            }
            _ => {}
        }
    }

    /// Records that the graph has the captured nodes.
    pub(super) fn capture_ended(&mut self, call: &Call<'_>, id: u64, graph: u64) {
        let capture = self.captures.remove(&id).filter(|capture| !capture.is_other);
        let Some(Capture { mut nodes, adds, .. }) = capture else {
            return self.set_nodes(Kind::Graph, graph, Nodes::opaque());
        };
        let owner = self.objects.find(Kind::Graph, graph);
        for node in nodes.by_node.keys().copied().filter(|_| owner.is_some()) {
            let made_by = Some((call.number, call.function.name));
            self.objects.make(New {
                owner,
                context: call.context,
                ..New::of(Kind::GraphNode, node, made_by)
            });
        }
        if adds {
            nodes.append(self.nodes_of(Kind::Graph, graph));
        }
        self.set_nodes(Kind::Graph, graph, nodes);
    }

    /// Records that a node has other work now, which may be unknown.
    fn change(&mut self, graph: Option<Place>, node: u64, work: Option<NodeWork>) {
        let Some(graph) = graph else {
            // It may be a node of any graph.
            self.graphs.clear();
            return;
        };
        let original = self.clones.get(&node).map(|(original, _)| *original);
        let known = self.graphs.get_mut(&graph).and_then(|nodes| nodes.work_of(node, original));
        match known.zip(work) {
            Some((known, work)) => *known = NodeWork { node: known.node, is_off: known.is_off, ..work },
            None => drop(self.graphs.insert(graph, Nodes::opaque())),
        }
    }

    /// Records that a node of an executable graph is disabled, or enabled again.
    fn switched(&mut self, call: &Call<'_>) {
        let Some(graph) = self.objects.find(Kind::ExecutableGraph, call.word(0)) else { return };
        let original = self.clones.get(&call.word(1)).map(|(original, _)| *original);
        let known = self.graphs.get_mut(&graph).and_then(|nodes| nodes.work_of(call.word(1), original));
        match known {
            Some(work) => work.is_off = call.word(2) & u64::from(u32::MAX) == 0,
            None => drop(self.graphs.insert(graph, Nodes::opaque())),
        }
    }

    /// Records that a node of a clone is the copy of another node.
    fn found_in_clone(&mut self, call: &Call<'_>, node: u64) {
        let Some(clone) = self.graph_of(node) else { return };
        // The cloned graph may be a clone itself.
        let original = self.clones.get(&call.word(1)).map_or(call.word(1), |(original, _)| *original);
        self.clones.insert(node, (original, clone));
    }

    /// Records a call that was captured: it is a node now, or begins the capture.
    pub(super) fn captured_in_graph(
        &mut self,
        call: &Call<'_>,
        launch: Option<&Launch>,
        sides: Vec<Side>,
        captured: Option<Captured>,
    ) {
        let Some(Captured { id, node }) = captured else { return };
        let name = call.function.name;
        if name.starts_with("cuStreamBegin") {
            let adds = name == "cuStreamBeginCaptureToGraph";
            let is_other = !adds && name != "cuStreamBeginCapture_v2";
            self.captures.insert(id, Capture { nodes: Nodes::default(), adds, is_other });
        }
        if id == 0 {
            // It may be part of any capture.
            self.captures.values_mut().for_each(|capture| capture.is_other = true);
        }
        let Some(capture) = self.captures.get_mut(&id) else { return };
        let is_other = is_opaque(call) || launch.is_some_and(|launch| !launch.records.is_empty());
        capture.nodes.is_opaque |= is_other;
        let copies = (!sides.is_empty()).then(|| NodeWork::of(call, name, sides));
        let work = launch.map(|launch| NodeWork::of_launch(call, launch)).or(copies);
        work.into_iter().for_each(|work| capture.nodes.push(NodeWork { node, ..work }));
    }

    /// Records the launch of a graph: its nodes do their work on the stream, after the graph's previous launch.
    pub(super) fn graph_launched(&mut self, call: &Call<'_>, key: Stream, stream: u64) -> Vec<Finding> {
        let graph = self.objects.find(Kind::ExecutableGraph, call.word(0));
        // Taken out instead of cloned, because it may be long; put back below.
        let known = graph.and_then(|graph| self.graphs.remove(&graph));
        let nodes = known.unwrap_or_else(Nodes::opaque);
        if self.graphs_wait {
            self.order.wait_for_all(key);
        }
        graph.into_iter().for_each(|graph| self.order.wait_for_launch(key, graph));
        let at = self.order.work(key);
        let mut findings = Vec::new();
        for work in nodes.enabled() {
            for side in &work.sides {
                findings.extend(self.access(call, &work.what, side, stream, at));
            }
        }
        // What the host or other streams learn from other nodes is not visible.
        let is_all = !nodes.is_opaque && !self.graphs_wait;
        if let Some(graph) = graph {
            self.order.record(graph, key);
            self.graphs.insert(graph, nodes);
        }
        if !is_all {
            self.order.host_waits(key);
        }
        findings.truncate(1);
        findings
    }
}

/// Whether a call without tracked memory begins a capture, or adds a node that is not tracked. Other calls must leave the capture
/// alone: a list of nodes that the driver has returned to the program is valid until the program changes the capture.
pub(super) fn adds_to_a_capture(call: &Call<'_>) -> bool {
    call.function.name.starts_with("cuStreamBegin") || is_opaque(call)
}

/// Whether a captured call becomes a node that orders more than its own work, or whose work is unknown.
fn is_opaque(call: &Call<'_>) -> bool {
    let name = call.function.name;
    let external = matches!(name, "cuEventRecordWithFlags" | "cuStreamWaitEvent") && call.word(2) & 1 == 1;
    external
        || waits_in_a_graph(name)
        || name.starts_with("cuMemAlloc")
        || name.starts_with("cuMemFree")
        // Drivers refuse it and invalidate the capture.
        || name == "cuGraphLaunch"
}

/// # Safety
///
/// 1. The contract of the call holds.
unsafe fn passed(call: &Call<'_>) -> Option<Passed> {
    let name = call.function.name.strip_prefix("cuGraph")?;
    let (kind, is_new) = match name.strip_prefix("Add") {
        Some(kind) => (kind, true),
        None => (name.strip_prefix("Exec").unwrap_or(name), false),
    };
    let kind = kind.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("_v");
    let kind = if is_new { kind } else { kind.strip_suffix("SetParams")? };
    // The parameters follow the node or the graph, and the executable graph; some functions have the context as last
    // parameter.
    let parameters = match (is_new, name.starts_with("Exec")) {
        (true, _) if kind == "Node" => call.words.last().copied()?,
        (true, _) => call.word(4),
        (false, is_exec) => call.word(1 + usize::from(is_exec)),
    };
    // SAFETY: 1, in all of them: the argument is null or the address of such a structure, which is not written during the call: duty 1.
    unsafe {
        match kind {
            "MemcpyNode" => copy(Structure::at(parameters, size_of::<CUDA_MEMCPY3D>())?),
            "MemsetNode" => fill(Structure::at(parameters, size_of::<CUDA_MEMSET_NODE_PARAMS>())?),
            "KernelNode" => {
                let is_first = call.function.name.ends_with("_v1");
                let whole = size_of::<CUDA_KERNEL_NODE_PARAMS_v3>();
                let bytes = if is_first { size_of::<CUDA_KERNEL_NODE_PARAMS_v1>() } else { whole };
                launch(Structure::at(parameters, bytes)?)
            }
            "Node" => generic(parameters),
            "ChildGraphNode" if is_new => Some(Passed::Child(parameters)),
            "EmptyNode" => Some(Passed::Nothing),
            _ => kind.ends_with("Node").then_some(Passed::Other),
        }
    }
}

/// # Safety
///
/// 1. The address is null, or that of a node's parameters, which are not written during the call.
unsafe fn generic(parameters: u64) -> Option<Passed> {
    let union = offset_of!(CUgraphNodeParams, __bindgen_anon_1);
    let at = |offset: usize| parameters + union as u64 + offset as u64;
    // SAFETY: 1, in all of them: parameters of every kind are as long as the structure, and begin with their type, which determines the
    // member of the union that is set: duty 1.
    unsafe {
        let kind = CUgraphNodeType(Structure::at(parameters, 4)?.short(0));
        match kind {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL => {
                launch(Structure::at(at(0), size_of::<CUDA_KERNEL_NODE_PARAMS_v3>())?)
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY => {
                let offset = offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams);
                copy(Structure::at(at(offset), size_of::<CUDA_MEMCPY3D>())?)
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET => {
                fill(Structure::at(at(0), size_of::<CUDA_MEMSET_NODE_PARAMS>())?)
            }
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY => Some(Passed::Nothing),
            _ => Some(Passed::Other),
        }
    }
}

fn copy(copy: Structure) -> Option<Passed> {
    Some(Passed::Sides("copy", planes_of_node(&copy)))
}

fn fill(fill: Structure) -> Option<Passed> {
    Some(Passed::Sides("fill", fill_of_node(&fill).into_iter().collect()))
}

fn launch(kernel: Structure) -> Option<Passed> {
    type Of = CUDA_KERNEL_NODE_PARAMS_v3;
    let function = match kernel.long(offset_of!(Of, func)) {
        0 => kernel.long(offset_of!(Of, kern)),
        function => function,
    };
    let [gx, gy, gz] = [offset_of!(Of, gridDimX), offset_of!(Of, gridDimY), offset_of!(Of, gridDimZ)];
    let [bx, by, bz] = [offset_of!(Of, blockDimX), offset_of!(Of, blockDimY), offset_of!(Of, blockDimZ)];
    Some(Passed::Kernel(Raw {
        function,
        grid: [gx, gy, gz].map(|at| kernel.short(at)),
        block: [bx, by, bz].map(|at| kernel.short(at)),
        shared: kernel.short(offset_of!(Of, sharedMemBytes)),
        stream: 0,
        attributes: Vec::new(),
        arguments: kernel.long(offset_of!(Of, kernelParams)),
        extra: kernel.long(offset_of!(Of, extra)),
    }))
}
