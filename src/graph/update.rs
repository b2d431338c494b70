//! Bringing an executable graph up to date with an edited graph.

#![allow(unsafe_code)] // A call of the driver with two live graphs.

use cuda_driver_sys::{CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUresult};
use std::sync::Arc;

use super::exec::GraphExec;
use super::graph::{CudaGraph, two_families};
use super::node::lock;
use crate::driver::{despite_captures, older};
use crate::error::{Error, ErrorKind, GraphError, UpdateRefusal};

impl GraphExec {
    /// Adopts what the nodes of `graph` do, which must have the same nodes and dependencies, added in the same order.
    /// Earlier launches run unchanged.
    ///
    /// Nodes are still identified by the graph that this one was instantiated from.
    ///
    /// ```
    /// use cuda_launch::error::{GraphError, UpdateRefusal};
    /// use cuda_launch::graph::InstantiateFlags;
    /// use cuda_launch::{CudaContext, CudaGraph, ErrorKind};
    /// let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_empty(&[])?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.update(&graph)?;
    /// graph.add_empty(&[])?;
    /// let refused = exec.update(&graph).unwrap_err();
    /// let ErrorKind::Graph(GraphError::Update { refusal, .. }) = refused.kind() else { panic!("{refused}") };
    /// assert_eq!(*refusal, UpdateRefusal::TOPOLOGY_CHANGED);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphExecUpdate_v2`, or its first ABI before CUDA 12.0.
    ///
    /// # Errors
    /// [`GraphError::Update`] with the reason and the node, if the graphs differ in something that cannot be changed;
    /// this one is left unchanged. The graph belongs to another context.
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn update(&mut self, graph: &CudaGraph) -> Result<(), Error> {
        self.context().same_context(graph.context(), "the graph", "the executable graph")?;
        self.context().bind()?;
        let none = std::ptr::null_mut();
        let result = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
        let mut info = CUgraphExecUpdateResultInfo { result, errorNode: none, errorFromNode: none };
        let both = two_families()?;
        let ours = self.family.lock()?;
        let other = !Arc::ptr_eq(&self.family, &graph.family);
        let theirs = other.then(|| graph.family.lock()).transpose()?;
        graph.order_captured()?;
        // SAFETY: 1: this value owns the executable graph (`GraphExec::raw`), and `&mut self` is the only use of it;
        // the other lives as long as its handle (`CudaGraph::raw`); they are of one context, as was checked, and both
        // families are locked; `info` is a local, which outlives the call.
        let code = despite_captures(self.context(), || unsafe {
            older::update(self.context().driver(), self.raw(), graph.raw(), &mut info)
        });
        let table = lock(&graph.table);
        if code == CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE {
            let (refusal, node) = (UpdateRefusal(info.result.0), table.label(info.errorNode));
            return Err(ErrorKind::from(GraphError::Update { refusal, node }).into());
        }
        self.context().check(code, "cuGraphExecUpdate", String::new)?;
        // What the driver has adopted; until here nothing could change it.
        let (share, captured) = (table.share(), table.has_captured());
        drop((table, theirs, ours, both));
        self.take_over(share, captured);
        Ok(())
    }
}
