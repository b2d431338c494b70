//! Graphs inside graphs.

#![allow(unsafe_code)] // Calls of the driver with two live graphs.

use super::graph::{CudaGraph, NewNode, two_families};
use super::node::{GraphNode, NodeKind, lock};
use crate::error::Error;

impl CudaGraph {
    /// Adds a copy of `child` as one node. Later changes of `child` do not affect it; what `child` uses is kept alive
    /// here, too.
    ///
    /// ```
    /// use cuda_launch::graph::NodeKind;
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// let ctx = CudaContext::new(0)?;
    /// let (mut inner, mut outer) = (CudaGraph::new(&ctx)?, CudaGraph::new(&ctx)?);
    /// inner.add_empty(&[])?;
    /// let node = outer.add_child(&[], &inner)?;
    /// assert_eq!(outer.kind(node)?, NodeKind::Child);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphAddChildGraphNode`.
    ///
    /// # Errors
    /// The child belongs to another context, a node in `after` is not part of this graph, or any error returned by the
    /// driver: a graph with memory allocation or conditional nodes cannot be a child.
    #[doc(alias = "cuGraphAddChildGraphNode")]
    pub fn add_child(&mut self, after: &[GraphNode], child: &CudaGraph) -> Result<GraphNode, Error> {
        self.same_context(child.context(), "the child graph")?;
        let mut what = NewNode::new("cuGraphAddChildGraphNode", NodeKind::Child);
        let _both = two_families()?;
        let _own = self.family.lock()?;
        // The body of a conditional node may get a copy of a graph of its own family.
        let other = !std::sync::Arc::ptr_eq(&self.family, &child.family);
        let _other = other.then(|| child.family.lock()).transpose()?;
        // The child cannot change between this and the call.
        child.order_captured()?;
        let table = lock(&child.table);
        (what.share, what.captured) = (table.share(), table.has_captured());
        drop(table);
        let inner = child.raw;
        // SAFETY: the child lives as long as its handle (`CudaGraph::raw`), and its family is locked; the driver copies it, and `what`
        // keeps what it uses; it is of this graph's context, which was compared; the rest is as `add` says.
        self.add_locked(after, &mut what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddChildGraphNode(node, graph, after, count, inner)
        })
    }
}
