//! The handle of a node, and what a graph stores about each of its nodes.

use cuda_driver_sys::{CUgraph, CUgraphNode, CUgraphNodeType};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::order::Captured;
use crate::driver::{Keep, Resource};
use crate::error::{Error, ErrorKind, GraphError};
use crate::memory::Allocation;
use crate::ordering::Submission;

/// A node of one graph: a number that is meaningful only to its own graph and to what was instantiated from it.
///
/// ```
/// use cuda_launch::{CudaContext, CudaGraph};
/// let ctx = CudaContext::new(0)?;
/// let (mut one, mut other) = (CudaGraph::new(&ctx)?, CudaGraph::new(&ctx)?);
/// let node = one.add_empty(&[])?;
/// assert!(other.add_empty(&[node]).unwrap_err().is_graph_error());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "CUgraphNode")]
pub struct GraphNode {
    pub(super) graph: u64,
    pub(super) index: usize,
}

impl GraphNode {
    /// The node's number in its graph: nodes are numbered in the order in which they were added.
    pub fn index(self) -> usize {
        self.index
    }
}

/// What a node does (`CUgraphNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeKind {
    /// Runs a kernel.
    Kernel,
    /// Copies memory.
    Memcpy,
    /// Sets memory.
    Memset,
    /// Calls a function on the host.
    Host,
    /// Runs another graph.
    Child,
    /// Nothing: only something to depend on.
    Empty,
    /// Waits for an event.
    EventWait,
    /// Records an event.
    EventRecord,
    /// Allocates memory.
    MemAlloc,
    /// Frees memory.
    MemFree,
    /// Runs one of its graphs, or none, or one repeatedly.
    Conditional,
    /// A kind that this crate cannot create.
    Other(u32),
}

impl From<CUgraphNodeType> for NodeKind {
    fn from(kind: CUgraphNodeType) -> Self {
        use CUgraphNodeType as T;
        match kind {
            T::CU_GRAPH_NODE_TYPE_KERNEL => Self::Kernel,
            T::CU_GRAPH_NODE_TYPE_MEMCPY => Self::Memcpy,
            T::CU_GRAPH_NODE_TYPE_MEMSET => Self::Memset,
            T::CU_GRAPH_NODE_TYPE_HOST => Self::Host,
            T::CU_GRAPH_NODE_TYPE_GRAPH => Self::Child,
            T::CU_GRAPH_NODE_TYPE_EMPTY => Self::Empty,
            T::CU_GRAPH_NODE_TYPE_WAIT_EVENT => Self::EventWait,
            T::CU_GRAPH_NODE_TYPE_EVENT_RECORD => Self::EventRecord,
            T::CU_GRAPH_NODE_TYPE_MEM_ALLOC => Self::MemAlloc,
            T::CU_GRAPH_NODE_TYPE_MEM_FREE => Self::MemFree,
            T::CU_GRAPH_NODE_TYPE_CONDITIONAL => Self::Conditional,
            T(other) => Self::Other(other),
        }
    }
}

impl NodeKind {
    /// As it stands in messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Host => "host",
            Self::Child => "child graph",
            Self::Empty => "empty",
            Self::EventWait => "event wait",
            Self::EventRecord => "event record",
            Self::MemAlloc => "memory allocation",
            Self::MemFree => "memory free",
            Self::Conditional => "conditional",
            Self::Other(_) => "other",
        }
    }
}

/// What work uses, and so keeps alive.
#[derive(Clone, Default)]
pub(super) struct Share {
    pub(super) memory: Vec<Use>,
    pub(super) objects: Vec<Keep>,
    /// The kernels' numbers, for the list of what may be blamed for a fault.
    pub(super) kernels: Vec<u32>,
}

/// Memory, and whether it is written.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) resource: Arc<dyn Resource>,
    pub(super) written: bool,
}

impl Use {
    /// Whether it is the same memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.resource), Arc::as_ptr(&other.resource))
    }

    /// Notes that `work` uses it.
    pub(super) fn note(&self, work: &mut Submission<'_>) -> Result<(), Error> {
        work.accesses(self.resource.accesses(), self.written, || self.resource.clone())
    }
}

impl Share {
    /// A share in one object.
    pub(super) fn object(object: Keep) -> Self {
        Self { objects: vec![object], ..Self::default() }
    }

    /// A share in one piece of memory.
    pub(super) fn add_memory(&mut self, allocation: &Arc<Allocation>, written: bool) {
        self.memory.push(Use { resource: allocation.clone(), written });
    }

    /// All that `other` has, too; memory that both have is one entry.
    pub(super) fn extend(&mut self, other: &Self) {
        self.objects.extend_from_slice(&other.objects);
        self.kernels.extend_from_slice(&other.kernels);
        for new in &other.memory {
            match self.memory.iter_mut().find(|known| known.is(new)) {
                Some(known) => known.written |= new.written,
                None => self.memory.push(new.clone()),
            }
        }
    }
}

/// A share during the driver call that needs it. If that call unwinds, because a `tracing` subscriber panicked, it is unknown
/// what the driver did, and `rest` keeps the share.
pub(super) struct Sharing<'s> {
    rest: Rest<'s>,
    share: Option<Share>,
}

/// Who then keeps it.
pub(super) enum Rest<'s> {
    /// An executable graph.
    Exec(&'s mut Share),
    /// A graph, whose table is not locked during the call: a subscriber may look at it.
    Graph(&'s SharedTable),
}

impl<'s> Sharing<'s> {
    pub(super) fn new(rest: Rest<'s>, share: Share) -> Self {
        Self { rest, share: Some(share) }
    }

    /// The driver has answered.
    pub(super) fn end(mut self) -> Share {
        self.share.take().unwrap_or_default()
    }
}

impl Drop for Sharing<'_> {
    fn drop(&mut self) {
        if let Some(share) = self.share.take().filter(|_| std::thread::panicking()) {
            match &mut self.rest {
                Rest::Exec(rest) => rest.extend(&share),
                Rest::Graph(table) => lock(table).rest.extend(&share),
            }
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table of {} nodes", self.live().count())
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share of {} buffers, {} objects", self.memory.len(), self.objects.len())
    }
}

/// What a graph remembers of a node.
#[derive(Debug)]
pub(super) struct Record {
    /// Lives as long as the graph has this record and the family is locked: `remove_locked` takes the record out before the driver ends
    /// the node, and both are done under the family's lock.
    pub(super) raw: CUgraphNode,
    pub(super) kind: NodeKind,
    /// The kernel's name, or nothing.
    pub(super) name: String,
    pub(super) share: Share,
    /// The graphs inside a conditional node.
    pub(super) bodies: Vec<SharedTable>,
    /// Whether work of the graph that was copied into a child graph node was captured.
    pub(super) captured: bool,
}

#[allow(unsafe_code)] // a handle in plain data
// SAFETY: a CUgraphNode may be used from every thread, one at a time ("Graph object thread safety"): who calls the
// driver with one holds the family's lock, or has the only handle of the family, as a `LaunchPlan`. The rest is Send.
unsafe impl Send for Record {}

/// All nodes of one graph by number; those removed leave their place.
pub(super) struct Table {
    pub(super) id: u64,
    /// The graph; lives as long as anybody has this and the family is locked.
    pub(super) graph: CUgraph,
    /// Counts the changes of nodes and dependencies.
    pub(super) version: u64,
    pub(super) records: Vec<Option<Record>>,
    /// What is used by nodes that were not added one by one.
    pub(super) rest: Share,
    /// Which nodes were captured together, and what they use.
    pub(super) captured: Vec<Captured>,
}

#[allow(unsafe_code)] // a handle in plain data
// SAFETY: a CUgraph may be used from every thread, one at a time ("Graph object thread safety"): who calls the driver with this one
// holds the family's lock. The rest is Send.
unsafe impl Send for Table {}

pub(super) type SharedTable = Arc<Mutex<Table>>;

/// Locks a table, never over a call of the driver: a subscriber that looks at the graph would wait for itself. Nothing panics while it is
/// locked, and every state of it is whole.
pub(super) fn lock(table: &SharedTable) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// That of a graph which nothing is known of yet.
    ///
    /// # Safety
    /// 1. The graph lives as long as anybody has the result and the graph's family is locked.
    #[allow(unsafe_code)] // says what `graph` relies on
    pub(super) unsafe fn new(id: u64, graph: CUgraph) -> Self {
        Self { id, graph, version: 0, records: Vec::new(), rest: Share::default(), captured: Vec::new() }
    }

    /// Takes in a node of the driver's.
    pub(super) fn push(&mut self, record: Record) -> GraphNode {
        self.version += 1;
        self.records.push(Some(record));
        GraphNode { graph: self.id, index: self.records.len() - 1 }
    }

    /// The record of a node of this graph.
    pub(super) fn get(&mut self, node: GraphNode) -> Result<&mut Record, Error> {
        let index = node.index;
        if node.graph != self.id {
            return Err(ErrorKind::from(GraphError::ForeignNode { index }).into());
        }
        self.records
            .get_mut(index)
            .and_then(Option::as_mut)
            .ok_or_else(|| ErrorKind::from(GraphError::RemovedNode { node: format!("node {index}") }).into())
    }

    /// The record of a node of this graph that is of this kind.
    pub(super) fn get_kind(&mut self, node: GraphNode, kind: NodeKind) -> Result<&mut Record, Error> {
        let record = self.get(node)?;
        if record.kind == kind {
            return Ok(record);
        }
        let error = GraphError::WrongKind { node: record.label(node.index), wanted: kind.word() };
        Err(ErrorKind::from(error).into())
    }

    /// The driver's handles of these nodes.
    pub(super) fn raw(&mut self, nodes: &[GraphNode]) -> Result<Vec<CUgraphNode>, Error> {
        nodes.iter().map(|&node| self.get(node).map(|record| record.raw)).collect()
    }

    /// The nodes that were not removed, in the order in which they were added.
    pub(super) fn live(&self) -> impl Iterator<Item = (GraphNode, &Record)> {
        let nodes = self.records.iter().enumerate();
        nodes.filter_map(|(index, record)| Some((GraphNode { graph: self.id, index }, record.as_ref()?)))
    }

    /// The node with this handle.
    pub(super) fn find(&self, raw: CUgraphNode) -> Option<GraphNode> {
        self.live().find(|(_, record)| record.raw == raw).map(|(node, _)| node)
    }

    /// How the node with this handle is called in messages; `None` for no node.
    pub(super) fn label(&self, raw: CUgraphNode) -> Option<String> {
        let inside = |(_, record): (_, &Record)| record.bodies.iter().find_map(|body| lock(body).label(raw));
        match self.live().find(|(_, record)| record.raw == raw) {
            Some((node, record)) => Some(record.label(node.index)),
            None => self.live().find_map(inside),
        }
    }

    /// All that the graph uses, with the graphs inside it.
    pub(super) fn share(&self) -> Share {
        let mut all = self.rest.clone();
        self.live().for_each(|(_, record)| all.extend(&record.full_share()));
        all
    }
}

impl Record {
    /// How the node is called in messages.
    pub(super) fn label(&self, index: usize) -> String {
        let Self { kind, name, .. } = self;
        if name.is_empty() {
            format!("node {index} ({})", kind.word())
        } else {
            format!("node {index} ({} {name})", kind.word())
        }
    }

    /// What a copy of the graph remembers of the node; the handle is still that of the original.
    pub(super) fn copy(&self) -> Self {
        let (name, share, captured) = (self.name.clone(), self.full_share(), self.is_captured());
        Self { raw: self.raw, kind: self.kind, name, share, bodies: Vec::new(), captured }
    }

    /// Whether other code has one of the graphs inside it, which go with the node.
    pub(super) fn is_held(&self) -> bool {
        let inside = |body: &SharedTable| lock(body).live().any(|(_, record)| record.is_held());
        self.bodies.iter().any(|body| Arc::strong_count(body) > 1 || inside(body))
    }

    /// Whether work of the graphs inside it was captured.
    pub(super) fn is_captured(&self) -> bool {
        self.captured || self.bodies.iter().any(|body| lock(body).has_captured())
    }

    /// What the node uses, with the graphs inside it.
    pub(super) fn full_share(&self) -> Share {
        let mut all = self.share.clone();
        self.bodies.iter().for_each(|body| all.extend(&lock(body).share()));
        all
    }
}
