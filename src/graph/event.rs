//! Nodes that record events and wait for them.

#![allow(unsafe_code)] // Calls of the driver with an event that the graph keeps.

use std::sync::Arc;

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::CudaEvent;
use crate::error::Error;

impl CudaGraph {
    /// Adds a node that records `event` whenever it runs.
    ///
    /// Driver call: `cuGraphAddEventRecordNode`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::InstantiateFlags;
    /// use std::sync::Arc;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = Arc::new(ctx.new_event()?);
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let work = graph.add_host(&[], || ())?;
    /// graph.add_event_record(&[work], &event)?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// event.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The event belongs to another context, a node in `after` is not part of this graph, or any error returned by the
    /// driver.
    #[doc(alias = "cuGraphAddEventRecordNode")]
    pub fn add_event_record(
        &mut self,
        after: &[GraphNode],
        event: &Arc<CudaEvent>,
    ) -> Result<GraphNode, Error> {
        self.same_context(event.context(), "the event")?;
        let (raw, share) = (event.raw(), Share::object(event.clone()));
        let what = NewNode::new("cuGraphAddEventRecordNode", NodeKind::EventRecord).using(share);
        // SAFETY: the share keeps the event as long as the node can run; it is of the graph's context, which was compared; the rest is as
        // `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddEventRecordNode(node, graph, after, count, raw)
        })
    }

    /// Adds a node that waits until the work before `event`, as recorded when the graph is launched, is done.
    ///
    /// The event may belong to another context of the same driver. Driver call: `cuGraphAddEventWaitNode`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use std::sync::Arc;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = Arc::new(ctx.new_event()?);
    /// event.record(&stream)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let there = graph.add_event_wait(&[], &event)?;
    /// graph.add_host(&[there], || println!("after the work before the event"))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The event belongs to another driver, a node in `after` is not part of this graph, or any error returned by the
    /// driver.
    #[doc(alias = "cuGraphAddEventWaitNode")]
    pub fn add_event_wait(
        &mut self,
        after: &[GraphNode],
        event: &Arc<CudaEvent>,
    ) -> Result<GraphNode, Error> {
        self.context().same_driver(event.context(), "the event", "the graph")?;
        let (raw, share) = (event.raw(), Share::object(event.clone()));
        let what = NewNode::new("cuGraphAddEventWaitNode", NodeKind::EventWait).using(share);
        // SAFETY: the share keeps the event as long as the node can run; it is of the graph's driver, which was compared; the rest is as
        // `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddEventWaitNode(node, graph, after, count, raw)
        })
    }
}
