//! A graph that can be edited.

#![allow(unsafe_code)] // Calls of the driver with live handles: a graph is destroyed only by `Family`, its nodes go with it.

use cuda_driver_sys::{CUgraph, CUgraphNode, CUgraphNodeType, CUresult, Driver};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::node::{GraphNode, NodeKind, Record, Rest, Share, SharedTable, Sharing, Table, lock};
use crate::driver::{CudaContext, OwnGuard, OwnLock, host_call};
use crate::error::{Error, ErrorKind, GraphError};

/// Work as nodes and their dependencies: described once, then [instantiated](CudaGraph::instantiate) and launched many times.
///
/// Nodes are added one by one (`add_kernel`, `add_copy` and so on), or recorded from a stream by
/// [`CudaGraph::capture`]. What they use is kept alive by the graph and whatever is instantiated from it.
///
/// ```standalone_crate
/// use cuda_launch::graph::{InstantiateFlags, KernelNode};
/// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer, LaunchConfig, kernel_args};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// let mut graph = CudaGraph::new(&ctx)?;
/// let config = LaunchConfig::for_num_elems(100);
/// let node = KernelNode::new(&fill, config, &[], kernel_args![ptr_mut(x), 100u32, 7u32])?;
/// // SAFETY: 1: `fill` takes an address, a length and a value, writes any `u32` to the 100 elements of `x`, and ends;
/// // the graph keeps and orders `x`, which no other node uses.
/// unsafe { graph.add_kernel(&[], node) }?;
/// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
/// assert_eq!(x.to_host_vec(&stream)?, [7; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[doc(alias = "CUgraph")]
pub struct CudaGraph {
    pub(super) family: Arc<Family>,
    pub(super) table: SharedTable,
    /// The family's root, which lives as long as `family`; or a body of a conditional node, which goes with that node: this has the body's
    /// table, and as long as anybody has it `remove_locked` refuses to remove the node, or a node around it.
    pub(super) raw: CUgraph,
    id: u64,
}

/// A graph with all graphs nested in it: the driver destroys them together, and lets only one thread at a time change
/// them.
#[derive(Debug)]
pub(super) struct Family {
    /// A number that no other family has.
    pub(super) id: u64,
    /// Lives as long as this value, which destroys it when dropped, or the caller of `from_raw` promised it, by duty 1 there. If a
    /// driver destroys it earlier, `Phase::Lost` is set, and `lock` then refuses all uses.
    root: CUgraph,
    owned: bool,
    pub(super) context: CudaContext,
    lock: OwnLock<Phase>,
}

/// Who may use the graphs of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Any holder of the lock.
    #[default]
    Free,
    /// A capture, which records into one of them.
    Recording,
    /// None can be used any more: the driver may have destroyed one and reused its handle for another graph.
    Lost,
}

// SAFETY: a CUgraph may be used from every thread, one at a time ("Graph object thread safety"): each call of the
// driver that uses one is made under the family's lock, or while a capture into it keeps all others out
// (`Phase::Recording`), or, in `find_copy`, with a clone that nobody else has yet. The rest is Send.
unsafe impl Send for CudaGraph {}
// SAFETY: as above: calls through a shared reference take the family's lock, too. The rest is Sync.
unsafe impl Sync for CudaGraph {}
// SAFETY: as above: `root` is only used to destroy the graph, at the end of the value. The rest is Send.
unsafe impl Send for Family {}
// SAFETY: `root` is not used through a shared reference; the rest is Sync.
unsafe impl Sync for Family {}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl CudaGraph {
    /// An empty graph.
    ///
    /// Driver call: `cuGraphCreate`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let first = graph.add_host(&[], || println!("first"))?;
    /// graph.add_host(&[first], || println!("second"))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuGraphCreate")]
    pub fn new(context: &CudaContext) -> Result<Self, Error> {
        context.make(
            "cuGraphCreate",
            String::new,
            // SAFETY: `make` made the context current; the output outlives the call; 0 is the only value of the flags.
            |driver, raw| unsafe { driver.cuGraphCreate(raw, 0) },
            // SAFETY: 1: the graph was just made, in this context; 2: its number is in this function alone.
            |raw| unsafe { Self::adopt(context, raw, true) },
        )
    }

    /// Borrows a graph that other code created and will destroy.
    ///
    /// Driver calls: `cuGraphGetNodes`, `cuGraphNodeGetType`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    ///
    /// # Safety
    /// 1. `raw` is a live graph of `context` that is nested in no other, and outlives the result and what is instantiated from it.
    /// 2. In the meantime no other code adds or removes nodes, or uses the graph on another thread.
    /// 3. What its nodes use lives as long as they can run.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUgraph) -> Result<Self, Error> {
        // SAFETY: 1: live, of `context` and nested in no other, by the caller's duty 1; 2: it is not owned, and outlives all by the same.
        let graph = unsafe { Self::adopt(context, raw, false) };
        graph.learn_nodes()?;
        Ok(graph)
    }

    /// Owns `raw`, or borrows it.
    ///
    /// # Safety
    /// 1. `raw` is a live graph of `context` that is nested in no other, or null, which drivers refuse.
    /// 2. If it is `owned`, it is not null, and nothing else destroys it. Otherwise it outlives the result and what is instantiated from it.
    pub(super) unsafe fn adopt(context: &CudaContext, raw: CUgraph, owned: bool) -> Self {
        let family =
            Family { id: next_id(), root: raw, owned, context: context.clone(), lock: OwnLock::default() };
        // SAFETY: 1: the root of the family, which was just made for it.
        unsafe { Self::inside(Arc::new(family), raw) }
    }

    /// A graph of this family.
    ///
    /// # Safety
    /// 1. `raw` is the family's root, or a graph nested in it, of a node that is not removed as long as anybody has the result's table.
    pub(super) unsafe fn inside(family: Arc<Family>, raw: CUgraph) -> Self {
        let id = next_id();
        // SAFETY: 1: the caller's duty 1.
        let table = unsafe { Table::new(id, raw) };
        Self { family, table: Arc::new(Mutex::new(table)), raw, id }
    }

    /// The graph of this family that the table is of; used as long as that is locked.
    pub(super) fn of_table(family: &Arc<Family>, table: &SharedTable) -> Self {
        let (raw, id) = {
            let table = lock(table);
            (table.graph, table.id)
        };
        Self { family: family.clone(), table: table.clone(), raw, id }
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// assert_eq!(CudaGraph::new(&ctx)?.context().ordinal(), 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn context(&self) -> &CudaContext {
        &self.family.context
    }

    /// The raw graph, valid as long as this value lives. Nodes that other code adds to it are unknown here.
    pub fn raw(&self) -> CUgraph {
        self.raw
    }

    /// The nodes, in the order in which they were added. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_empty(&[])?;
    /// assert_eq!(graph.nodes(), [node]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "cuGraphGetNodes")]
    pub fn nodes(&self) -> Vec<GraphNode> {
        lock(&self.table).live().map(|(node, _)| node).collect()
    }

    /// What a node does. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_host(&[], || ())?;
    /// println!("{:?}", graph.kind(node)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The node is not part of this graph, or was removed.
    #[doc(alias = "cuGraphNodeGetType")]
    pub fn kind(&self, node: GraphNode) -> Result<NodeKind, Error> {
        lock(&self.table).get(node).map(|record| record.kind)
    }

    /// The raw node, valid until it is removed.
    ///
    /// # Errors
    /// The node is not part of this graph, or was removed.
    pub fn raw_node(&self, node: GraphNode) -> Result<CUgraphNode, Error> {
        lock(&self.table).get(node).map(|record| record.raw)
    }

    /// Removes a node and its dependencies. Executable graphs are not changed, but this node of theirs can no longer
    /// be updated.
    ///
    /// Driver call: `cuGraphDestroyNode`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_empty(&[])?;
    /// graph.remove(node)?;
    /// assert!(graph.nodes().is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The node is not part of this graph; it is a conditional node, and one of its graphs is still in use; or any
    /// error returned by the driver: memory allocation nodes cannot be removed.
    #[doc(alias = "cuGraphDestroyNode")]
    pub fn remove(&mut self, node: GraphNode) -> Result<(), Error> {
        self.remove_shared(node)
    }

    /// The same for a caller that holds the graph alone, behind a shared reference.
    pub(super) fn remove_shared(&self, node: GraphNode) -> Result<(), Error> {
        let family = self.family.lock()?;
        let gone = self.remove_locked(node)?;
        drop(family);
        // Outside the lock: what the node used may be dropped with it.
        drop(gone);
        Ok(())
    }

    /// The same where the family is locked; returns what is remembered of the node.
    pub(super) fn remove_locked(&self, node: GraphNode) -> Result<Option<Record>, Error> {
        if lock(&self.table).get(node)?.is_held() {
            let why = "one of its graphs is still in use: drop it first".into();
            return Err(ErrorKind::from(GraphError::Unfit { node: "conditional", why }).into());
        }
        self.bridge(node)?;
        let (raw, label, share, mut gone) = {
            let mut table = lock(&self.table);
            let record = table.get(node)?;
            let (raw, label, share) = (record.raw, record.label(node.index), record.full_share());
            table.version += 1;
            // Removed from the table before the driver call: if that unwinds, the handle may already be invalid.
            (raw, label, share, table.records.get_mut(node.index).and_then(Option::take))
        };
        let sharing = Sharing::new(Rest::Graph(&self.table), share);
        let done = self.context().call(
            "cuGraphDestroyNode",
            || label,
            // SAFETY: the family is locked, so the node is live (`Record::raw`); it is no longer in the table, so it is not used
            // again.
            |driver| unsafe { driver.cuGraphDestroyNode(raw) },
        );
        drop(sharing.end());
        if done.is_err()
            && let Some(place) = lock(&self.table).records.get_mut(node.index)
        {
            *place = gone.take();
        }
        done.map(|()| gone)
    }

    /// Adds a node that does nothing, for others to depend on.
    ///
    /// Driver call: `cuGraphAddEmptyNode`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let (left, right) = (graph.add_host(&[], || ())?, graph.add_host(&[], || ())?);
    /// let both = graph.add_empty(&[left, right])?; // a barrier
    /// graph.add_host(&[both], || println!("after both"))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// A node in `after` is not part of this graph, or any error returned by the driver.
    #[doc(alias = "cuGraphAddEmptyNode")]
    pub fn add_empty(&mut self, after: &[GraphNode]) -> Result<GraphNode, Error> {
        let what = NewNode::new("cuGraphAddEmptyNode", NodeKind::Empty);
        // SAFETY: as `add` says, the graph lives and is locked, `node` is a place for the node, and `after` a list of `count` of the
        // graph's nodes.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddEmptyNode(node, graph, after, count)
        })
    }

    /// A copy of the graph. Its nodes have the same numbers: see [`CudaGraph::copy_of`].
    ///
    /// Driver calls: `cuGraphClone`, `cuGraphNodeFindInClone`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_empty(&[])?;
    /// assert_eq!(graph.try_clone()?.nodes().len(), 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver: graphs with memory allocation nodes cannot be cloned.
    #[doc(alias = "cuGraphClone")]
    pub fn try_clone(&self) -> Result<Self, Error> {
        let _family = self.family.lock()?;
        self.order_captured()?;
        let clone = self.context().make(
            "cuGraphClone",
            String::new,
            // SAFETY: the graph lives as long as this value (`CudaGraph::raw`), and is locked; the output outlives the call.
            |driver, raw| unsafe { driver.cuGraphClone(raw, self.raw) },
            // SAFETY: 1: the graph was just made, in this context; 2: its number is in this function alone.
            |raw| unsafe { Self::adopt(self.context(), raw, true) },
        )?;
        // The table is not locked while the driver is called: nobody changes it, since the family is.
        let (mut records, rest, captured) = {
            let ours = lock(&self.table);
            let records: Vec<_> =
                ours.records.iter().map(|record| record.as_ref().map(Record::copy)).collect();
            (records, ours.rest.clone(), ours.captured.clone())
        };
        records.iter_mut().flatten().try_for_each(|record| self.find_copy(record, clone.raw))?;
        let mut theirs = lock(&clone.table);
        (theirs.records, theirs.rest, theirs.captured) = (records, rest, captured);
        drop(theirs);
        Ok(clone)
    }

    /// The node of this clone that corresponds to `node` of the original. No driver call.
    pub fn copy_of(&self, node: GraphNode) -> GraphNode {
        GraphNode { graph: self.id, ..node }
    }

    /// Replaces the handle of a node of this graph with that of its copy.
    fn find_copy(&self, record: &mut Record, clone: CUgraph) -> Result<(), Error> {
        let mut raw = std::ptr::null_mut();
        self.context().call(
            "cuGraphNodeFindInClone",
            || record.name.clone(),
            // SAFETY: `try_clone`, which alone calls this, has locked the family since before it made `clone`, so that the node lives
            // (`Record::raw`) and is one of those that were cloned; nobody else has the clone; `raw` is a local, which outlives the call.
            |driver| unsafe { driver.cuGraphNodeFindInClone(&mut raw, record.raw, clone) },
        )?;
        record.raw = raw;
        Ok(())
    }

    /// Destroys the graph now, if nothing that was instantiated from it is left, and reports any error.
    ///
    /// Driver call: `cuGraphDestroy`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// # let ctx = CudaContext::new(0)?;
    /// CudaGraph::new(&ctx)?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the graph is released in any case.
    #[doc(alias = "cuGraphDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.family).map_or(Ok(()), |mut family| family.destroy())
    }

    /// Adds a node: checks the dependencies, calls the driver, remembers the node.
    ///
    /// `call` is given a place for the node, the graph, which lives and is locked, and a list of nodes of this graph with their number; all
    /// outlive it. The graph keeps the share of `what` as long as the node can run.
    pub(super) fn add(
        &mut self,
        after: &[GraphNode],
        mut what: NewNode,
        call: impl FnOnce(&Driver, *mut CUgraphNode, CUgraph, *const CUgraphNode, usize) -> CUresult,
    ) -> Result<GraphNode, Error> {
        // What is refused is dropped after the lock: it may be the program's.
        let _family = self.family.lock()?;
        self.add_locked(after, &mut what, call)
    }

    /// The same where the family is locked; the share is left where the node is not added.
    pub(super) fn add_locked(
        &self,
        after: &[GraphNode],
        what: &mut NewNode,
        call: impl FnOnce(&Driver, *mut CUgraphNode, CUgraph, *const CUgraphNode, usize) -> CUresult,
    ) -> Result<GraphNode, Error> {
        let after = lock(&self.table).raw(after)?;
        let (mut raw, call_name, kind) = (std::ptr::null_mut(), what.call, what.kind);
        let asked = || {
            let name = if what.name.is_empty() { String::new() } else { format!(" {}", what.name) };
            format!("{} node{name} after {} others", kind.word(), after.len())
        };
        let share = std::mem::take(&mut what.share);
        // Kept by the graph even if the call unwinds: the node may have been added.
        let share = Sharing::new(Rest::Graph(&self.table), share);
        let added = self
            .context()
            .call(call_name, asked, |driver| call(driver, &mut raw, self.raw, after.as_ptr(), after.len()));
        let share = share.end();
        if let Err(error) = added {
            what.share = share;
            return Err(error);
        }
        let (name, captured) = (std::mem::take(&mut what.name), what.captured);
        Ok(lock(&self.table).push(Record { raw, kind, name, share, bodies: Vec::new(), captured }))
    }

    /// Takes in nodes that the driver has and the table has not; returns them.
    ///
    /// Driver calls: `cuGraphGetNodes`, `cuGraphNodeGetType`.
    pub(super) fn learn_nodes(&self) -> Result<Vec<GraphNode>, Error> {
        let _family = self.family.lock()?;
        let known: HashSet<_> = lock(&self.table).live().map(|(_, record)| record.raw).collect();
        let mut new = Vec::new();
        for raw in self.raw_nodes()? {
            if known.contains(&raw) {
                continue;
            }
            let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
            // SAFETY: the driver has just named the node, and the family is locked since, so that nobody removes it; `kind` is a local,
            // which outlives the call.
            self.context().call("cuGraphNodeGetType", String::new, |driver| unsafe {
                driver.cuGraphNodeGetType(raw, &mut kind)
            })?;
            let (kind, share) = (kind.into(), Share::default());
            let record =
                Record { raw, kind, name: String::new(), share, bodies: Vec::new(), captured: false };
            new.push(lock(&self.table).push(record));
        }
        Ok(new)
    }

    fn raw_nodes(&self) -> Result<Vec<CUgraphNode>, Error> {
        let (mut nodes, mut count) = (Vec::new(), 0);
        let asked = || "the nodes of a graph".to_string();
        // SAFETY: the graph lives as long as this value (`CudaGraph::raw`), and is locked by `learn_nodes`, which alone calls this; no
        // list asks for the count only, which is a local.
        self.context().call("cuGraphGetNodes", asked, |driver| unsafe {
            driver.cuGraphGetNodes(self.raw, std::ptr::null_mut(), &mut count)
        })?;
        nodes.resize(count, std::ptr::null_mut());
        if count != 0 {
            // SAFETY: as above; the list has `count` places, which the driver is told, and outlives the call.
            self.context().call("cuGraphGetNodes", asked, |driver| unsafe {
                driver.cuGraphGetNodes(self.raw, nodes.as_mut_ptr(), &mut count)
            })?;
        }
        nodes.truncate(count);
        Ok(nodes)
    }
}

/// What a new node is.
pub(super) struct NewNode {
    pub(super) call: &'static str,
    pub(super) kind: NodeKind,
    pub(super) name: String,
    pub(super) share: Share,
    /// Whether captured work is in it.
    pub(super) captured: bool,
}

impl NewNode {
    /// A node that uses nothing and has no name.
    pub(super) fn new(call: &'static str, kind: NodeKind) -> Self {
        Self { call, kind, name: String::new(), share: Share::default(), captured: false }
    }

    /// The same, using this.
    pub(super) fn using(self, share: Share) -> Self {
        Self { share, ..self }
    }
}

/// A thread that locks two families takes this lock first, so that no two threads lock them in opposite order.
pub(super) fn two_families() -> Result<OwnGuard<'static, ()>, Error> {
    static BOTH: OwnLock<()> = OwnLock::new(());
    BOTH.lock("a change of two graphs")
}

impl CudaGraph {
    /// An error unless `what`, of `context`, may be part of this graph.
    pub(super) fn same_context(&self, context: &CudaContext, what: &str) -> Result<(), Error> {
        self.context().same_context(context, what, "the graph")
    }
}

impl Family {
    /// One thread at a time in the family's graphs. Take it before a table's lock.
    ///
    /// # Errors
    /// A capture records into one of them: the driver changes it then, with each piece of work, and no lock is held. Or one was lost.
    pub(super) fn lock(&self) -> Result<OwnGuard<'_, Phase>, Error> {
        let phase = self.lock.lock("a change of a graph")?;
        match *phase {
            Phase::Free => Ok(phase),
            Phase::Recording => Err(ErrorKind::from(GraphError::Recording).into()),
            Phase::Lost => Err(ErrorKind::from(GraphError::Lost).into()),
        }
    }

    /// The capture is over; what comes after it.
    pub(super) fn end_recording(&self, then: Phase) {
        // This thread does not have it: then it would not have begun the capture.
        let _ = self.lock.lock("the end of a capture").map(|mut phase| *phase = then);
    }

    /// Whether the driver may have destroyed it.
    fn is_lost(&self) -> bool {
        self.lock.lock("cuGraphDestroy").is_ok_and(|phase| *phase == Phase::Lost)
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if !self.owned || self.is_lost() {
            self.owned = false;
            return Ok(());
        }
        // Still owned: the drop that follows passes it on.
        host_call::refuse("cuGraphDestroy")?;
        self.owned = false;
        // SAFETY: `owned` was true, and is false from now on: this crate made the graph or was given it, and destroys it once, unless the
        // driver may have. No handle is left: graphs inside it, and what was instantiated from it, hold this value, whose end this is.
        let destroy = |driver: &Driver| unsafe { driver.cuGraphDestroy(self.root) };
        self.context.give_back("cuGraphDestroy", String::new, destroy)
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.owned && host_call::is_running() {
            self.owned = false;
            if self.is_lost() {
                return;
            }
            let (root, context, lock) = (self.root, self.context.clone(), OwnLock::default());
            let rest = Self { id: self.id, root, owned: true, context, lock };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}
