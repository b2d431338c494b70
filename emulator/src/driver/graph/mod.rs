//! `cuGraph*`: work that is described once and launched often.
//!
//! A [`Graph`] is a set of nodes, each an [`Operation`], and of edges that say which comes after which. It runs nothing:
//! instantiating it makes an [`Exec`](exec::Exec), whose [`Plan`](plan::Plan) is a copy of the operations in an order
//! that the edges allow. A launch gives the plan, whole, to a stream, which does one operation after the other.

pub(super) mod capture;
pub(super) mod copy;
mod edges;
mod event;
mod exec;
pub(super) mod fill;
pub(super) mod host;
pub(super) mod kernel;
mod nodes;
pub(super) mod operation;
mod plan;
mod structure;

use cuda_driver_sys::{CUgraph, CUgraphEdgeData, CUgraphNode};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::entry::{INVALID_VALUE, Outcome};
use super::state::{Call, State, lock};
pub(super) use event::Signal;
pub(super) use exec::Exec;
use operation::Operation;

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
    contents: Mutex<Contents>,
}

/// What is in a graph.
#[derive(Default)]
struct Contents {
    /// By handle, which is the order in which they were made.
    nodes: BTreeMap<usize, Node>,
}

/// A node.
struct Node {
    operation: Operation,
    /// What it comes after.
    after: Vec<Edge>,
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
        let graph = Arc::new(Graph { handle, contents: Mutex::default() });
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
        self.contents().nodes.insert(handle, Node { operation, after });
        handle
    }

    /// Forgets the graph and its nodes: their handles are gone.
    fn discard(&self, state: &State) {
        state.graphs.remove(self.handle);
        let nodes = std::mem::take(&mut self.contents().nodes);
        for handle in nodes.keys() {
            state.nodes.remove(*handle);
        }
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
