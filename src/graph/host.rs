//! Functions on the host.

#![allow(unsafe_code)] // Calls of the driver with a function that may be called at any time.

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::host_call::GraphFunction;
use crate::error::Error;

impl CudaGraph {
    /// Adds a call of a function on the host, on a thread of the driver. Launches of two different executable graphs
    /// may call it concurrently. The nodes that depend on it wait for it.
    ///
    /// As with [`CudaStream::call_host`](crate::CudaStream::call_host), the function cannot use CUDA, calls of this
    /// crate return [`InHostCallback`](crate::error::InHostCallback), and what it drops is released on another thread. What it says
    /// about functions that block applies here, too.
    ///
    /// The function is dropped with the last graph that contains it or, if a launch is still running then, later on another thread.
    ///
    /// A panic inside is caught, and resumed by [`GraphExec::synchronize`](super::GraphExec::synchronize): the first
    /// one since its last call.
    ///
    /// ```
    /// use cuda_launch::graph::InstantiateFlags;
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    /// let ctx = CudaContext::new(0)?;
    /// let (count, stream) = (Arc::new(AtomicU32::new(0)), ctx.new_stream()?);
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let counter = count.clone();
    /// graph.add_host(&[], move || {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.launch(&stream)?;
    /// exec.launch(&stream)?;
    /// exec.synchronize()?;
    /// assert_eq!(count.load(Ordering::Relaxed), 2);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphAddHostNode`.
    ///
    /// # Errors
    /// A node in `after` is not part of this graph, or any error returned by the driver.
    #[doc(alias = "cuGraphAddHostNode")]
    pub fn add_host(
        &mut self,
        after: &[GraphNode],
        function: impl Fn() + Send + Sync + 'static,
    ) -> Result<GraphNode, Error> {
        // First, because in the child of a fork the table of functions may be locked for ever.
        self.context().may_call("cuGraphAddHostNode")?;
        let host = GraphFunction::new(function);
        let params = host.params();
        let what = NewNode::new("cuGraphAddHostNode", NodeKind::Host).using(Share::object(host));
        // SAFETY: `params` has a function of the program, which may be called with any number at any time, and outlives the call; the
        // rest is as `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddHostNode(node, graph, after, count, &params)
        })
    }
}
