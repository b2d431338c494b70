//! `cuGraph*`: work that is described once and launched often.
//!
//! A [`Graph`] is a set of nodes, each an [`Operation`], and of edges, their dependencies. It runs nothing:
//! instantiating it creates an [`Exec`](exec::Exec), whose [`Plan`](plan::Plan) is a copy of the operations in an order
//! that the edges allow. A launch submits the whole plan to a stream, which performs one operation after the other.

mod attribute;
mod batch;
mod branches;
pub(super) mod capture;
mod change;
mod child;
mod conditional;
mod copy;
mod device;
mod dot;
mod edges;
mod environment;
mod event;
mod exec;
mod families;
mod fill;
mod generic;
mod host;
mod kernel;
mod list;
mod memory;
mod nodes;
mod operation;
mod plan;
mod structure;
mod update;
mod user_object;
mod waits;

use cuda_driver_sys::{CUgraph, CUgraphNode};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::entry::{INVALID_VALUE, OUT_OF_MEMORY, Outcome};
use super::handles::Handles;
use super::logs;
use super::slot::{PerSlot, per_slot};
use super::state::{Call, lock};
use super::work::recorder::Edge;
use conditional::Condition;
pub(super) use exec::EXECS;
pub(super) use families::address;
use operation::Operation;
use user_object::Hold;
pub(super) use user_object::USER_OBJECTS;

/// The maximum nesting of graphs: operations on a graph recurse into those in its nodes.
const MOST_LEVELS: u32 = 256;

/// A graph.
pub(super) struct Graph {
    /// Its handle.
    pub(super) handle: usize,
    /// Its nesting level: 0 unless it is a part of a node of another graph, with which it is destroyed.
    level: u32,
    /// For a body of a conditional node, the graph of that node.
    outer: Weak<Graph>,
    contents: Mutex<Contents>,
}

/// The contents of a graph.
#[derive(Default)]
struct Contents {
    /// By handle, which is the order of their creation.
    nodes: BTreeMap<usize, Node>,
    /// Objects of the program that live as long as the graph.
    objects: Vec<Hold>,
    /// The nodes by the nodes from which they were cloned.
    clones: BTreeMap<usize, usize>,
    /// Values that decide about conditional nodes.
    conditions: Vec<Arc<Condition>>,
    /// The handle of the last executable graph that was instantiated from it, if any.
    exec: Option<usize>,
}

/// A node.
struct Node {
    operation: Operation,
    /// Its dependencies.
    after: Vec<Edge>,
}

/// The graph of a node.
pub(super) struct OwningGraph(Weak<Graph>);

/// All graphs, and their nodes.
pub(super) static GRAPHS: PerSlot<Handles<Graph>> = per_slot!(Handles::new(32));
pub(super) static NODES: PerSlot<Handles<OwningGraph>> = per_slot!(Handles::new(33));

/// Forgets all graphs.
pub(super) fn clear() {
    EXECS.clear();
    NODES.clear();
    // References to user objects are released with the graphs.
    GRAPHS.clear();
    USER_OBJECTS.clear();
}

impl Graph {
    /// An empty graph, known to the driver, nested in `level` others.
    fn create(level: u32, outer: Weak<Graph>) -> Arc<Graph> {
        let handle = GRAPHS.reserve();
        let graph = Arc::new(Graph { handle, level, outer, contents: Mutex::default() });
        GRAPHS.insert(handle, Arc::clone(&graph));
        graph
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        lock(&self.contents)
    }

    /// Adds a node and returns its handle.
    fn add(self: &Arc<Self>, operation: Operation, after: Vec<Edge>) -> usize {
        let handle = NODES.reserve();
        NODES.insert(handle, Arc::new(OwningGraph(Arc::downgrade(self))));
        self.contents().nodes.insert(handle, Node { operation, after });
        handle
    }

    /// Removes the graph and its nodes, and the graphs in them: their handles become invalid.
    fn discard(&self) {
        GRAPHS.remove(self.handle);
        // Taken out first, because dropping the contents may access the graph.
        let contents = std::mem::take(&mut *self.contents());
        for (handle, node) in contents.nodes {
            NODES.remove(handle);
            node.operation.graphs().iter().for_each(|graph| graph.discard());
        }
    }

    /// The nesting depth from this graph on; at most [`MOST_LEVELS`].
    fn depth(&self) -> u32 {
        let contents = self.contents();
        let inner = contents.nodes.values().flat_map(|node| node.operation.graphs());
        1 + inner.map(|graph| graph.depth()).max().unwrap_or(0)
    }

    /// The level of a graph in a node of this one that itself contains `depth` nested levels.
    fn level_below(&self, depth: u32) -> Outcome<u32> {
        let level = self.level + 1;
        if level + depth > MOST_LEVELS {
            logs::because(format!(
                "graphs can be nested {MOST_LEVELS} levels deep on the emulator, as child graphs or as bodies of conditional nodes; this \
                 would make {} levels",
                level + depth
            ));
            logs::advise("nest fewer graphs");
            return Err(OUT_OF_MEMORY);
        }
        Ok(level)
    }

    /// A separate copy of the graph, nested in `level` others. It records from which nodes its own were cloned.
    fn duplicate(&self, level: u32) -> Arc<Graph> {
        let clone = Graph::create(level, Weak::new());
        let contents = self.contents();
        let mut handles = BTreeMap::new();
        for (origin, node) in &contents.nodes {
            let handle = clone.add(node.operation.duplicate(level + 1), Vec::new());
            handles.insert(*origin, handle);
        }
        let mut cloned = clone.contents();
        for (origin, node) in &contents.nodes {
            let copy = handles.get(origin).and_then(|handle| cloned.nodes.get_mut(handle));
            let Some(copy) = copy else { continue };
            let from =
                |edge: &Edge| handles.get(&edge.from).map(|from| Edge { from: *from, data: edge.data });
            copy.after = node.after.iter().filter_map(from).collect();
        }
        cloned.objects.clone_from(&contents.objects);
        cloned.clones = handles;
        drop(cloned);
        clone
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
        self.healthy()?;
        GRAPHS.get(handle.addr()).ok_or(INVALID_VALUE)
    }

    /// The node that a handle means.
    fn node(&self, handle: CUgraphNode) -> Outcome<Place> {
        self.healthy()?;
        let home = NODES.get(handle.addr()).ok_or(INVALID_VALUE)?;
        let graph = home.0.upgrade().ok_or(INVALID_VALUE)?;
        Ok(Place { graph, node: handle.addr() })
    }
}
