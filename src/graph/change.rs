//! Changing an executable graph node by node, without instantiating it again.

#![allow(unsafe_code)] // Calls of the driver with an executable graph and nodes of the graph that it was made from.

use std::sync::Arc;

use cuda_driver_sys::{CUgraphExec, CUgraphNode, CUresult, Driver};

use super::copy::CopyNode;
use super::exec::GraphExec;
use super::graph::CudaGraph;
use super::memset::MemsetNode;
use super::node::{GraphNode, NodeKind, Rest, Share, Sharing, lock};
use crate::driver::host_call::GraphFunction;
use crate::driver::{CudaContext, CudaEvent, older};
use crate::error::{Error, ErrorKind, GraphError};
use crate::launch::KernelNode;

/// Each of these affects launches from now on; earlier launches run unchanged. The graph itself is not changed.
impl GraphExec {
    /// Changes the arguments and dimensions of a kernel node, or its function. Its attributes do not change: those of
    /// `kernel` are ignored.
    ///
    /// Driver call: `cuGraphExecKernelNodeSetParams_v2`, or its first ABI before CUDA 12.0.
    ///
    /// # Errors
    /// The node is not a kernel node of this graph, the kernel belongs to another context, or any error returned by
    /// the driver.
    ///
    /// # Safety
    /// 1. As [`CudaGraph::add_kernel`], for the launches from now on.
    #[doc(alias = "cuGraphExecKernelNodeSetParams")]
    pub unsafe fn set_kernel(&mut self, node: GraphNode, mut kernel: KernelNode<'_>) -> Result<(), Error> {
        self.same_context(kernel.function().context(), kernel.function().name())?;
        let (params, share) = (kernel.params(), kernel.share());
        // SAFETY: 1: `share` keeps the function's module, and `kernel` the packet, which outlives the call and was
        // compared with the parameters as far as they are known. The rest of the types, and what the kernel does, are
        // the caller's duty 1; all else is as `set` says.
        self.set(
            "cuGraphExecKernelNodeSetParams",
            node,
            NodeKind::Kernel,
            || Ok(share),
            |driver, exec, node| unsafe { older::set_kernel_node(driver, exec, node, &params) },
        )
    }

    /// Replaces the copy of a memcpy node. It is ordered against other nodes as [`CudaGraph::add_copy`] says.
    ///
    /// A driver 580 takes a copy of another length, and other memory of the same kind: host memory, pageable or pinned, stays host memory;
    /// plain, managed and pinned memory with an address of the device is one kind, memory of pools and mapped memory another. For any
    /// other copy, instantiate a graph that has it.
    ///
    /// Driver call: `cuGraphExecMemcpyNodeSetParams`.
    ///
    /// # Errors
    /// [`GraphError::Change`] if the driver refuses this memory in the place of what the node has; this graph is left unchanged. The node
    /// is not a memcpy node of this graph, the memory belongs to another context, or any error returned by the driver. Captured work or a
    /// child graph uses the memory, one of the two writes it, and no dependency orders them, or the graph that this one was made from has
    /// been changed since; this graph is left unchanged.
    #[doc(alias = "cuGraphExecMemcpyNodeSetParams")]
    pub fn set_copy(&mut self, node: GraphNode, copy: CopyNode) -> Result<(), Error> {
        self.same_context(&copy.context, "the memory of a copy")?;
        let (params, context) = (copy.params(), self.context().raw());
        // SAFETY: `CopyNode::new` compared the lengths of both sides, which `share` keeps; `params` is a local, which outlives the call;
        // the context is the graph's, which was compared; the rest is as `set` says.
        self.set(
            "cuGraphExecMemcpyNodeSetParams",
            node,
            NodeKind::Memcpy,
            || Ok(copy.share),
            |driver, exec, node| unsafe {
                driver.cuGraphExecMemcpyNodeSetParams(exec, node, &params, context)
            },
        )
    }

    /// Replaces the memory or the value of a memset node. It is ordered against other nodes as [`CudaGraph::add_memset`] says; the memory
    /// is of the same context as before.
    ///
    /// Driver call: `cuGraphExecMemsetNodeSetParams`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{InstantiateFlags, MemsetNode};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_memset(&[], MemsetNode::new(&mut x, 1.0)?)?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.set_memset(node, MemsetNode::new(&mut x, 2.0)?)?;
    /// exec.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [2.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`GraphExec::set_copy`], with a memset node.
    #[doc(alias = "cuGraphExecMemsetNodeSetParams")]
    pub fn set_memset(&mut self, node: GraphNode, memset: MemsetNode) -> Result<(), Error> {
        self.same_context(&memset.context, "the memory of a memset")?;
        let (params, context) = (memset.params, self.context().raw());
        // SAFETY: `MemsetNode::new` took address and length from the memory, which `share` keeps; `params` is a local, which outlives the
        // call; the context is the graph's, which was compared; the rest is as `set` says.
        self.set(
            "cuGraphExecMemsetNodeSetParams",
            node,
            NodeKind::Memset,
            || Ok(memset.share),
            |driver, exec, node| unsafe {
                driver.cuGraphExecMemsetNodeSetParams(exec, node, &params, context)
            },
        )
    }

    /// Replaces the function of a host node; see [`CudaGraph::add_host`].
    ///
    /// Driver call: `cuGraphExecHostNodeSetParams`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::InstantiateFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_host(&[], || println!("one"))?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.set_host(node, || println!("another"))?;
    /// exec.launch(&stream)?;
    /// stream.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The node is not a host node of this graph, or any error returned by the driver.
    #[doc(alias = "cuGraphExecHostNodeSetParams")]
    pub fn set_host(
        &mut self,
        node: GraphNode,
        function: impl Fn() + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let host = GraphFunction::new(function);
        let (params, share) = (host.params(), Share::object(host));
        // SAFETY: `params` has a function of the program, which may be called with any number at any time, and outlives the call; the
        // rest is as `set` says.
        self.set(
            "cuGraphExecHostNodeSetParams",
            node,
            NodeKind::Host,
            || Ok(share),
            |driver, exec, node| unsafe { driver.cuGraphExecHostNodeSetParams(exec, node, &params) },
        )
    }

    /// Replaces the event of an event record node.
    ///
    /// Driver call: `cuGraphExecEventRecordNodeSetEvent`.
    ///
    /// # Errors
    /// The node is not an event record node of this graph, the event belongs to another context, or any error returned
    /// by the driver.
    #[doc(alias = "cuGraphExecEventRecordNodeSetEvent")]
    pub fn set_event_record(&mut self, node: GraphNode, event: &Arc<CudaEvent>) -> Result<(), Error> {
        self.same_context(event.context(), "the event")?;
        let (raw, share, kind) = (event.raw(), Share::object(event.clone()), NodeKind::EventRecord);
        // SAFETY: `share` keeps the event, of the graph's context, which was compared; the rest is as `set` says.
        self.set(
            "cuGraphExecEventRecordNodeSetEvent",
            node,
            kind,
            || Ok(share),
            |driver, exec, node| unsafe { driver.cuGraphExecEventRecordNodeSetEvent(exec, node, raw) },
        )
    }

    /// Replaces the event of an event wait node.
    ///
    /// Driver call: `cuGraphExecEventWaitNodeSetEvent`.
    ///
    /// # Errors
    /// The node is not an event wait node of this graph, the event belongs to another driver, or any error returned by
    /// the driver.
    #[doc(alias = "cuGraphExecEventWaitNodeSetEvent")]
    pub fn set_event_wait(&mut self, node: GraphNode, event: &Arc<CudaEvent>) -> Result<(), Error> {
        self.context().same_driver(event.context(), "the event", "the graph")?;
        let (raw, share, kind) = (event.raw(), Share::object(event.clone()), NodeKind::EventWait);
        // SAFETY: `share` keeps the event, of the graph's driver, which was compared; the rest is as `set` says.
        self.set(
            "cuGraphExecEventWaitNodeSetEvent",
            node,
            kind,
            || Ok(share),
            |driver, exec, node| unsafe { driver.cuGraphExecEventWaitNodeSetEvent(exec, node, raw) },
        )
    }

    /// Replaces the graph of a child graph node by one with the same nodes and dependencies.
    ///
    /// Driver call: `cuGraphExecChildGraphNodeSetParams`.
    ///
    /// # Errors
    /// The node is not a child graph node of this graph, the child belongs to another context, or any error returned
    /// by the driver. The child uses memory for which a dependency would be missing, as for [`GraphExec::set_copy`].
    #[doc(alias = "cuGraphExecChildGraphNodeSetParams")]
    pub fn set_child(&mut self, node: GraphNode, child: &CudaGraph) -> Result<(), Error> {
        self.same_context(child.context(), "the child graph")?;
        let _both = super::graph::two_families()?;
        let other = !Arc::ptr_eq(&self.family, &child.family);
        let _other = other.then(|| child.family.lock()).transpose()?;
        let (raw, kind) = (child.raw(), NodeKind::Child);
        // Where the two are of one family, its lock is taken by `set` before it asks for the share.
        let share = || {
            child.order_captured()?;
            Ok(lock(&child.table).share())
        };
        // SAFETY: the child lives as long as its handle (`CudaGraph::raw`), and its family is locked, by `_other` or as `set` does; the
        // driver copies it, and `share` keeps what it uses; it is of the graph's context, which was compared; the rest is as `set` says.
        self.set("cuGraphExecChildGraphNodeSetParams", node, kind, share, |driver, exec, node| unsafe {
            driver.cuGraphExecChildGraphNodeSetParams(exec, node, raw)
        })
    }

    /// Enables or disables a kernel, memcpy or memset node.
    ///
    /// Driver call: `cuGraphNodeSetEnabled`, in drivers since CUDA 11.6.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{InstantiateFlags, MemsetNode};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let node = graph.add_memset(&[], MemsetNode::new(&mut x, 1.0)?)?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.set_enabled(node, false)?;
    /// assert!(!exec.is_enabled(node)?);
    /// exec.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The node is not part of this graph, or any error returned by the driver: nodes of other kinds cannot be
    /// disabled.
    #[doc(alias = "cuGraphNodeSetEnabled")]
    pub fn set_enabled(&mut self, node: GraphNode, enabled: bool) -> Result<(), Error> {
        let _family = self.family.lock()?;
        let (raw, label) = self.find(node, None)?;
        self.context().call(
            "cuGraphNodeSetEnabled",
            || label,
            // SAFETY: this value owns the executable graph (`GraphExec::raw`), and `&mut self` is the only use of it. `find` found the
            // node in the graph that it was made from, which is locked, so that the node lives (`Record::raw`).
            |driver| unsafe { driver.cuGraphNodeSetEnabled(self.raw(), raw, enabled.into()) },
        )
    }

    /// Whether a kernel, memcpy or memset node is enabled.
    ///
    /// Driver call: `cuGraphNodeGetEnabled`, in drivers since CUDA 11.6.
    ///
    /// # Errors
    /// As for [`GraphExec::set_enabled`].
    #[doc(alias = "cuGraphNodeGetEnabled")]
    pub fn is_enabled(&self, node: GraphNode) -> Result<bool, Error> {
        let (_family, mut enabled) = (self.family.lock()?, 0);
        let (raw, label) = self.find(node, None)?;
        self.context().call(
            "cuGraphNodeGetEnabled",
            || label,
            // SAFETY: this value owns the executable graph (`GraphExec::raw`), of which this only asks. `find` found the node in the
            // graph that it was made from, which is locked, so that the node lives (`Record::raw`); `enabled` is a local, which outlives
            // the call.
            |driver| unsafe { driver.cuGraphNodeGetEnabled(self.raw(), raw, &mut enabled) },
        )?;
        Ok(enabled != 0)
    }

    /// Changes a node of this kind, which from then on uses `share`; `share` is called while the graphs cannot be changed
    /// by others.
    ///
    /// `change` receives this graph, which is live, and a node of that kind, of the graph that it was instantiated from, whose family is
    /// locked. This value keeps the share as long as the node can run.
    fn set(
        &mut self,
        call: &'static str,
        node: GraphNode,
        kind: NodeKind,
        share: impl FnOnce() -> Result<Share, Error>,
        change: impl FnOnce(&Driver, CUgraphExec, CUgraphNode) -> CUresult,
    ) -> Result<(), Error> {
        let family = self.family.clone();
        let locked = family.lock()?;
        let (raw, label) = self.find(node, Some(kind))?;
        let (exec, share) = (self.raw(), share()?);
        if let Err(error) = self.stays_ordered(node, kind, &share) {
            // Before what is refused, which may be the program's.
            drop(locked);
            return Err(error);
        }
        // Kept even if the call unwinds: the node may have been changed.
        let sharing = Sharing::new(Rest::Exec(self.rest_mut()), share);
        let changed = family.context.call(call, || label.clone(), |driver| change(driver, exec, raw));
        let changed =
            changed.map_err(|error| if uses_memory(kind) { refused(error, call, label) } else { error });
        let share = sharing.end();
        drop(locked);
        changed.map(|()| self.replace_share(node, share))
    }

    /// The driver's handle of a node, and what it is called in messages. Good as long as the family is locked.
    fn find(&self, node: GraphNode, kind: Option<NodeKind>) -> Result<(CUgraphNode, String), Error> {
        let mut table = lock(&self.table);
        let record = match kind {
            Some(kind) => table.get_kind(node, kind)?,
            None => table.get(node)?,
        };
        Ok((record.raw, record.label(node.index)))
    }

    fn same_context(&self, context: &CudaContext, what: &str) -> Result<(), Error> {
        self.context().same_context(context, what, "the graph")
    }
}

/// Whether a node of this kind names memory.
fn uses_memory(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Memcpy | NodeKind::Memset)
}

/// What a driver's `CUDA_ERROR_INVALID_VALUE` for other memory means, where nothing else can be wrong: the node and the graph are what they
/// should be, and the memory is there. Other errors stay.
fn refused(error: Error, call: &'static str, node: String) -> Error {
    let code = CUresult::CUDA_ERROR_INVALID_VALUE;
    let of_driver = matches!(error.kind(), ErrorKind::Driver(found) if found.code == code);
    if of_driver { ErrorKind::from(GraphError::Change { call, code, node }).into() } else { error }
}
