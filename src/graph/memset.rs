//! Nodes that set memory.

#![allow(unsafe_code)] // Calls of the driver on memory that the graph keeps.

use cuda_driver_sys::CUDA_MEMSET_NODE_PARAMS;

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::CudaContext;
use crate::error::{Error, ErrorKind, GraphError};
use crate::memory::{DeviceSliceMut, FillElement, Word};

/// Device memory and the value that each of its elements is set to: what a memset node does.
///
/// ```
/// use cuda_launch::graph::{InstantiateFlags, MemsetNode};
/// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 5)?;
/// let mut graph = CudaGraph::new(&ctx)?;
/// graph.add_memset(&[], MemsetNode::new(&mut buffer, 1.5)?)?;
/// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [1.5; 5]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUDA_MEMSET_NODE_PARAMS")]
pub struct MemsetNode {
    pub(super) context: CudaContext,
    pub(super) share: Share,
    pub(super) params: CUDA_MEMSET_NODE_PARAMS,
}

impl MemsetNode {
    /// Sets every element of `memory` to `value`. No driver call.
    ///
    /// # Errors
    /// The memory is empty.
    pub fn new<T: FillElement>(
        memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
        value: T,
    ) -> Result<Self, Error> {
        let (word, parts) = (Word::of(value), memory.parts_mut());
        if *parts.len == 0 {
            let why = "no elements; a node sets at least one".into();
            return Err(ErrorKind::from(GraphError::Unfit { node: "memset", why }).into());
        }
        let mut share = Share::default();
        share.add_memory(parts.allocation, true);
        let params = CUDA_MEMSET_NODE_PARAMS {
            dst: *parts.address,
            // Not looked at for one row.
            pitch: 0,
            value: word.bits(),
            elementSize: word.size() as u32,
            width: *parts.len,
            height: 1,
        };
        Ok(Self { context: parts.allocation.context().clone(), share, params })
    }
}

impl CudaGraph {
    /// Adds a node that sets memory. The memory stays allocated as long as the graph can run, and each launch is
    /// ordered against its other uses.
    ///
    /// Only the dependencies that it is given order it against other nodes of the graph, even if both use the same
    /// memory. Without a dependency the two may run at the same time, and the memory then contains any mixture of both.
    /// Captured work relies on an order: [`CudaGraph::instantiate`] adds what is missing there. Kernels may rely on it as well: see duty 1
    /// of [`CudaGraph::add_kernel`].
    ///
    /// Driver call: `cuGraphAddMemsetNode`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{InstantiateFlags, MemsetNode};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_memset(&[], MemsetNode::new(&mut x, 2.5)?)?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [2.5; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The memory belongs to another context, a node in `after` is not part of this graph, or any error returned by the
    /// driver.
    #[doc(alias = "cuGraphAddMemsetNode")]
    pub fn add_memset(&mut self, after: &[GraphNode], memset: MemsetNode) -> Result<GraphNode, Error> {
        self.same_context(&memset.context, "the memory of a memset")?;
        let (params, context) = (memset.params, self.context().raw());
        let what = NewNode::new("cuGraphAddMemsetNode", NodeKind::Memset).using(memset.share);
        // SAFETY: `MemsetNode::new` took address and length from the memory, which is kept with the node; `params` is a local, which
        // outlives the call; the context is the graph's, which was compared; the rest is as `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddMemsetNode(node, graph, after, count, &params, context)
        })
    }
}
