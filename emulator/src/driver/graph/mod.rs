//! `cuGraph*`: work that is described once and launched often.
//!
//! A [`Graph`] is a set of nodes, each an [`Operation`], and of edges that say which comes after which. It runs nothing:
//! instantiating it makes an [`Exec`](exec::Exec), whose [`Plan`](plan::Plan) is a copy of the operations in an order
//! that the edges allow. A launch gives the plan, whole, to a stream, which does one operation after the other.

mod attribute;
pub(super) mod capture;
mod change;
mod child;
mod conditional;
pub(super) mod copy;
mod dot;
mod edges;
mod event;
mod exec;
pub(super) mod fill;
mod generic;
pub(super) mod host;
pub(super) mod kernel;
pub(super) mod memory;
mod nodes;
pub(super) mod operation;
mod plan;
mod structure;
mod update;
mod user_object;

use cuda_driver_sys::{CUgraph, CUgraphEdgeData, CUgraphNode};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::entry::{INVALID_VALUE, Outcome};
use super::state::{Call, State, lock};
use conditional::Condition;
pub(super) use event::Signal;
pub(super) use exec::Exec;
use operation::Operation;
use user_object::Hold;
pub(super) use user_object::UserObject;

/// Where the functions are, file by file.
const FAMILIES: &[fn(&str) -> *const c_void] = &[
    structure::address,
    edges::address,
    nodes::address,
    kernel::address,
    copy::address,
    fill::address,
    host::address,
    event::address,
    exec::address,
    change::address,
    update::address,
    child::address,
    memory::address,
    conditional::address,
    generic::address,
    attribute::address,
    user_object::address,
    dot::address,
    capture::functions::address,
];

/// The address of one of the functions for graphs; null for other names.
pub(super) fn address(name: &str) -> *const c_void {
    let found = FAMILIES.iter().map(|family| family(name)).find(|address| !address.is_null());
    found.unwrap_or(std::ptr::null())
}

/// A graph.
pub(super) struct Graph {
    /// What the program calls it.
    pub(super) handle: usize,
    /// Whether it is a part of a node of another graph, which alone can take it down.
    embedded: AtomicBool,
    contents: Mutex<Contents>,
}

/// What is in a graph.
#[derive(Default)]
struct Contents {
    /// By handle, which is the order in which they were made.
    nodes: BTreeMap<usize, Node>,
    /// Objects of the program that live as long as the graph.
    objects: Vec<Hold>,
    /// Values that decide about conditional nodes.
    conditions: Vec<Condition>,
}

/// A node.
struct Node {
    operation: Operation,
    /// What it comes after.
    after: Vec<Edge>,
    /// The node that it was cloned from.
    origin: Option<usize>,
}

/// One end of an edge: the other one is the node that has it.
#[derive(Clone, Copy)]
struct Edge {
    from: usize,
    data: CUgraphEdgeData,
}

/// Where a node is.
pub(super) struct Home(Weak<Graph>);

impl Graph {
    /// An empty graph, known to the driver.
    fn create(state: &State) -> Arc<Graph> {
        let handle = state.graphs.reserve();
        let graph = Arc::new(Graph { handle, embedded: AtomicBool::new(false), contents: Mutex::default() });
        state.graphs.insert(handle, Arc::clone(&graph));
        graph
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }

    /// Adds a node and tells its handle.
    fn add(self: &Arc<Self>, state: &State, operation: Operation, after: Vec<Edge>) -> usize {
        let handle = state.nodes.reserve();
        state.nodes.insert(handle, Arc::new(Home(Arc::downgrade(self))));
        self.contents().nodes.insert(handle, Node { operation, after, origin: None });
        handle
    }

    /// Forgets the graph and its nodes, and the graphs in them: their handles are gone.
    fn discard(&self, state: &State) {
        state.graphs.remove(self.handle);
        // Taken out first: what goes with it may look at the graph.
        let contents = std::mem::take(&mut *self.contents());
        for (handle, node) in contents.nodes {
            state.nodes.remove(handle);
            node.operation.graphs().iter().for_each(|graph| graph.discard(state));
        }
    }

    /// A graph of its own that is the same; its nodes know which ones they are clones of.
    fn duplicate(&self, state: &State) -> Arc<Graph> {
        let clone = Graph::create(state);
        let contents = self.contents();
        let mut handles = BTreeMap::new();
        for (origin, node) in &contents.nodes {
            let handle = clone.add(state, node.operation.duplicate(state), Vec::new());
            handles.insert(*origin, handle);
        }
        let mut cloned = clone.contents();
        for (origin, node) in &contents.nodes {
            let copy = handles.get(origin).and_then(|handle| cloned.nodes.get_mut(handle));
            let Some(copy) = copy else { continue };
            copy.origin = Some(*origin);
            let from =
                |edge: &Edge| handles.get(&edge.from).map(|from| Edge { from: *from, data: edge.data });
            copy.after = node.after.iter().filter_map(from).collect();
        }
        cloned.objects.clone_from(&contents.objects);
        drop(cloned);
        clone
    }

    /// Makes it a part of a node.
    fn embed(self: Arc<Self>) -> Arc<Graph> {
        self.embedded.store(true, Ordering::Release);
        self
    }
}

impl Contents {
    /// The operation of a node.
    fn operation(&mut self, node: usize) -> Outcome<&mut Operation> {
        self.nodes.get_mut(&node).map(|node| &mut node.operation).ok_or(INVALID_VALUE)
    }
}

/// A node as a call names it: its graph and its handle.
struct Place {
    graph: Arc<Graph>,
    node: usize,
}

impl Place {
    /// Looks at the node's operation.
    fn look<T>(&self, look: impl FnOnce(&Operation) -> Outcome<T>) -> Outcome<T> {
        look(self.graph.contents().operation(self.node)?)
    }

    /// Changes the node's operation.
    fn change(&self, change: impl FnOnce(&mut Operation) -> Outcome) -> Outcome {
        change(self.graph.contents().operation(self.node)?)
    }
}

impl Call {
    /// The graph that a handle means.
    fn graph(&self, handle: CUgraph) -> Outcome<Arc<Graph>> {
        self.healthy()?.graphs.get(handle.addr()).ok_or(INVALID_VALUE)
    }

    /// The node that a handle means.
    fn node(&self, handle: CUgraphNode) -> Outcome<Place> {
        let home = self.healthy()?.nodes.get(handle.addr()).ok_or(INVALID_VALUE)?;
        let graph = home.0.upgrade().ok_or(INVALID_VALUE)?;
        Ok(Place { graph, node: handle.addr() })
    }
}
