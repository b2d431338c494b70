//! Conditional nodes: a graph that runs, or not, or repeatedly, depending on a value on the device.

#![allow(unsafe_code)] // Calls of the driver, which lists the graphs that it makes.

use cuda_driver_sys::{
    self as sys, CUgraph, CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNodeParams,
    CUgraphNodeType,
};
use std::sync::Arc;

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, lock};
use crate::error::{Error, ErrorKind, GraphError};

/// A value on the device that one conditional node reads when it starts.
///
/// A kernel in the graph gets it as the plain argument [`Conditional::handle`] and sets it with
/// `cudaGraphSetConditional`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "CUgraphConditionalHandle")]
pub struct Conditional {
    raw: CUgraphConditionalHandle,
    /// The family of its graph.
    family: u64,
}

impl Conditional {
    /// The handle, one parameter of 8 bytes of the kernel that sets the value.
    pub fn handle(self) -> u64 {
        self.raw
    }
}

/// Which graphs a conditional node has, and what its value means (`CUgraphConditionalNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Branches {
    /// One graph, which runs if the value is not 0.
    If,
    /// Two graphs: the first runs if the value is not 0, otherwise the second. Since CUDA 12.8.
    IfElse,
    /// One graph, which runs as long as the value is not 0. If no kernel in it sets the value to 0, a launch never ends, and neither does
    /// a call that waits for it, such as the free of memory that it uses.
    While,
    /// This many graphs; the one whose index is the value runs, or none for a larger value. Since CUDA 12.8.
    Switch(u32),
}

impl CudaGraph {
    /// Creates a value for one conditional node of this graph. Each launch sets it to `default`, or leaves it as the
    /// last launch left it.
    ///
    /// Driver call: `cuGraphConditionalHandleCreate`, in drivers since CUDA 12.3.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuGraphConditionalHandleCreate")]
    pub fn add_condition(&mut self, default: Option<u32>) -> Result<Conditional, Error> {
        let _family = self.family.lock()?;
        let (mut raw, context) = (0, self.context().raw());
        let (value, flags) = (default.unwrap_or(0), default.map_or(0, |_| sys::CU_GRAPH_COND_ASSIGN_DEFAULT));
        let asked = || format!("default {default:?}");
        // SAFETY: the graph lives as long as this value (`CudaGraph::raw`), and is locked; its family keeps the context; `raw` is a
        // local, which outlives the call.
        self.context().call("cuGraphConditionalHandleCreate", asked, |driver| unsafe {
            driver.cuGraphConditionalHandleCreate(&mut raw, self.raw, context, value, flags)
        })?;
        Ok(Conditional { raw, family: self.family.id })
    }

    /// Adds a node that runs one of its graphs, or none, or one repeatedly, depending on `value`. The graphs are
    /// returned empty, to be filled before this one is instantiated; what they use is kept with it.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, graph::Branches};
    /// let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let value = graph.add_condition(Some(1))?;
    /// let (node, mut bodies) = graph.add_conditional(&[], value, Branches::If)?;
    /// bodies[0].add_host(&[], || println!("the value is not 0"))?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphAddNode_v2`, in drivers since CUDA 12.3.
    ///
    /// # Errors
    /// A node in `after` is not part of this graph, the value belongs to another graph, or any error returned by the
    /// driver: it already has a node.
    #[doc(alias = "cuGraphAddNode")]
    pub fn add_conditional(
        &mut self,
        after: &[GraphNode],
        value: Conditional,
        branches: Branches,
    ) -> Result<(GraphNode, Vec<CudaGraph>), Error> {
        use CUgraphConditionalNodeType as T;
        if value.family != self.family.id {
            let why = "its value is of another graph: make it with `add_condition` of this one".into();
            return Err(ErrorKind::from(GraphError::Unfit { node: "conditional", why }).into());
        }
        let (kind, size) = match branches {
            Branches::If => (T::CU_GRAPH_COND_TYPE_IF, 1),
            Branches::IfElse => (T::CU_GRAPH_COND_TYPE_IF, 2),
            Branches::While => (T::CU_GRAPH_COND_TYPE_WHILE, 1),
            Branches::Switch(count) => (T::CU_GRAPH_COND_TYPE_SWITCH, count),
        };
        let conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
            handle: value.raw,
            type_: kind,
            size,
            phGraph_out: std::ptr::null_mut(),
            ctx: self.context().raw(),
        };
        let mut params = CUgraphNodeParams {
            type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
            ..Default::default()
        };
        params.__bindgen_anon_1.conditional = conditional;
        let what = NewNode::new("cuGraphAddNode", NodeKind::Conditional);
        // SAFETY: the type says which member is set, whose value is of this graph's family, as was checked; `default` has set all other
        // bytes to zero. No edge data means plain dependencies; `params` is a local, which outlives the call; the rest is as `add` says.
        let node = self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddNode(node, graph, after, std::ptr::null(), count, &mut params)
        })?;
        // SAFETY: the member is the one that was set above, where the driver has written a list of `size` graphs, or left null. The list
        // lives as long as the node, which is removed through this graph alone, and that is borrowed.
        let raw: Vec<CUgraph> = unsafe {
            let list = params.__bindgen_anon_1.conditional.phGraph_out;
            (0..if list.is_null() { 0 } else { size as usize }).map(|i| *list.add(i)).collect()
        };
        let body = |raw| {
            // SAFETY: 1: the driver has just made it for the node, which is of this family; the node has the table as one of its `bodies`
            // below, with which `remove_locked` refuses to remove it while anybody else has that.
            unsafe { CudaGraph::inside(self.family.clone(), raw) }
        };
        let bodies: Vec<CudaGraph> = raw.into_iter().map(body).collect();
        let tables = bodies.iter().map(|body| Arc::clone(&body.table)).collect();
        lock(&self.table).get(node)?.bodies = tables;
        Ok((node, bodies))
    }
}
