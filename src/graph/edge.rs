//! Dependencies between nodes.

#![allow(unsafe_code)] // Calls of the driver with nodes of a live graph.

use cuda_driver_sys::{self as sys, CUgraphDependencyType, CUgraphEdgeData, CUgraphNode};
use std::fmt;

use super::graph::CudaGraph;
use super::node::{GraphNode, lock};
use crate::driver::older;
use crate::error::Error;

/// When a node may start, relative to one that it depends on (`CUgraphEdgeData`).
///
/// ```
/// use cuda_launch::graph::Edge;
/// assert_ne!(Edge::FULL, Edge::PROGRAMMATIC);
/// assert_eq!(Edge::from_raw(Edge::LAUNCH_ORDER.raw()), Edge::LAUNCH_ORDER);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[doc(alias = "CUgraphEdgeData")]
pub struct Edge {
    from_port: u8,
    to_port: u8,
    kind: u8,
}

impl Edge {
    /// When the other is done and its writes are visible: a plain dependency.
    pub const FULL: Self = Self::new(sys::CU_GRAPH_KERNEL_NODE_PORT_DEFAULT, false);
    /// Between two kernels: when all blocks of the first have called `griddepcontrol.launch_dependents` or ended. The
    /// second waits for the first's writes with `griddepcontrol.wait`: one that does not may read them too early, and
    /// runs concurrently with the rest of the first. Devices of compute capability 9.0 and later.
    pub const PROGRAMMATIC: Self = Self::new(sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, true);
    /// Between two kernels: when all blocks of the first have started. The two run concurrently. Devices of compute
    /// capability 9.0 and later.
    pub const LAUNCH_ORDER: Self = Self::new(sys::CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, true);

    const fn new(from_port: u32, programmatic: bool) -> Self {
        let kind = if programmatic {
            CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
        } else {
            CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT
        };
        Self { from_port: from_port as u8, to_port: 0, kind: kind.0 as u8 }
    }

    /// Any edge data, in the driver's form.
    pub const fn from_raw(raw: CUgraphEdgeData) -> Self {
        Self { from_port: raw.from_port, to_port: raw.to_port, kind: raw.type_ }
    }

    /// The driver's form.
    pub const fn raw(self) -> CUgraphEdgeData {
        let Self { from_port, to_port, kind } = self;
        CUgraphEdgeData { from_port, to_port, type_: kind, reserved: [0; 5] }
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FULL => f.write_str("Edge::FULL"),
            Self::PROGRAMMATIC => f.write_str("Edge::PROGRAMMATIC"),
            Self::LAUNCH_ORDER => f.write_str("Edge::LAUNCH_ORDER"),
            other => f.debug_tuple("Edge").field(&other.raw()).finish(),
        }
    }
}

/// One dependency of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dependency {
    /// The node that comes first.
    pub from: GraphNode,
    /// The node that waits for it.
    pub to: GraphNode,
    /// What it waits for.
    pub edge: Edge,
}

impl CudaGraph {
    /// Makes `to` wait for `from`, as far as `edge` says. An edge other than [`Edge::FULL`] does not order everything
    /// that the two do: see duty 1 of [`CudaGraph::add_kernel`].
    ///
    /// Driver call: `cuGraphAddDependencies_v2`, or its first ABI before CUDA 12.3, for [`Edge::FULL`] only.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::Edge;
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let (first, second) = (graph.add_host(&[], || ())?, graph.add_host(&[], || ())?);
    /// graph.add_dependency(first, second, Edge::FULL)?;
    /// assert_eq!(graph.dependencies()?.len(), 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// A node is not part of this graph, or any error returned by the driver: the dependency already exists, creates a
    /// cycle, or is of a kind that the nodes do not support.
    #[doc(alias = "cuGraphAddDependencies")]
    pub fn add_dependency(&mut self, from: GraphNode, to: GraphNode, edge: Edge) -> Result<(), Error> {
        let _family = self.family.lock()?;
        self.change_edge((from, to), edge, true)
    }

    /// Removes the dependency of `to` on `from`; `edge` is the one that was added.
    ///
    /// The two may then run at the same time. Nothing checks whether a kernel of [`CudaGraph::add_kernel`] relies on the order: see duty 1
    /// there. Captured work does: if it was captured together with the other node, the call is refused; otherwise
    /// [`CudaGraph::instantiate`] orders the two again if they use the same memory.
    ///
    /// Driver calls: `cuGraphRemoveDependencies_v2`, or its first ABI before CUDA 12.3, for [`Edge::FULL`] only; for captured nodes
    /// `cuGraphGetEdges`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph};
    /// use cuda_launch::graph::Edge;
    /// # let ctx = CudaContext::new(0)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let first = graph.add_host(&[], || ())?;
    /// let second = graph.add_host(&[first], || ())?;
    /// graph.remove_dependency(first, second, Edge::FULL)?;
    /// assert!(graph.dependencies()?.is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// A node is not part of this graph; both were captured together, and no other path of dependencies leads from one to the other; or
    /// any error returned by the driver: the dependency does not exist.
    #[doc(alias = "cuGraphRemoveDependencies")]
    pub fn remove_dependency(&mut self, from: GraphNode, to: GraphNode, edge: Edge) -> Result<(), Error> {
        let _family = self.family.lock()?;
        lock(&self.table).raw(&[from, to])?;
        self.may_remove_edge((from, to), edge)?;
        self.change_edge((from, to), edge, false)
    }

    /// All dependencies, as the driver lists them.
    ///
    /// Driver call: `cuGraphGetEdges_v2`, or its first ABI before CUDA 12.3; twice.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuGraphGetEdges")]
    pub fn dependencies(&self) -> Result<Vec<Dependency>, Error> {
        let _family = self.family.lock()?;
        let edges = self.raw_edges()?;
        let table = lock(&self.table);
        // A node that others added to the raw graph is not known, and so left out.
        let known = edges.into_iter().filter_map(|(from, to, raw)| {
            Some(Dependency { from: table.find(from)?, to: table.find(to)?, edge: Edge::from_raw(raw) })
        });
        Ok(known.collect())
    }

    /// The same in the driver's form; the family is locked.
    pub(super) fn raw_edges(&self) -> Result<Vec<(CUgraphNode, CUgraphNode, CUgraphEdgeData)>, Error> {
        let (mut from, mut to, mut data) = (Vec::new(), Vec::new(), Vec::new());
        let (null, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: 1: the graph lives as long as this value (`CudaGraph::raw`), and is locked by the callers; no lists ask for the count
        // only, which is a local.
        self.context().call("cuGraphGetEdges", String::new, |driver| unsafe {
            older::get_edges(driver, self.raw, null, null, std::ptr::null_mut(), &mut count)
        })?;
        if count == 0 {
            return Ok(Vec::new());
        }
        from.resize(count, std::ptr::null_mut());
        to.resize(count, std::ptr::null_mut());
        data.resize(count, CUgraphEdgeData::default());
        // SAFETY: 1: as above; each list has `count` places, which the driver is told; all data are those of ordinary edges (`default`).
        self.context().call("cuGraphGetEdges", String::new, |driver| unsafe {
            older::get_edges(
                driver,
                self.raw,
                from.as_mut_ptr(),
                to.as_mut_ptr(),
                data.as_mut_ptr(),
                &mut count,
            )
        })?;
        let edges = from.into_iter().zip(to).zip(data).take(count);
        Ok(edges.map(|((from, to), data)| (from, to, data)).collect())
    }
}
