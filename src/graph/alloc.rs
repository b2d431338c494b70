//! Memory that a graph allocates and frees itself.

#![allow(unsafe_code)] // Calls of the driver, which fills in the address of what it reserves.

use cuda_driver_sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolProps,
};

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind};
use crate::error::{Error, ErrorKind, GraphError};
use crate::memory::{DeviceCopy, DevicePtr, DevicePtrMut};

/// Memory that exists from a graph's allocation node to its free node, at a fixed address.
///
/// Kernels in the graph that use it must depend on the allocation node, and the free node must depend on them.
#[derive(Clone, Copy, Debug)]
pub struct GraphMemory<T: DeviceCopy> {
    node: GraphNode,
    address: DevicePtrMut<T>,
    len: usize,
}

impl<T: DeviceCopy> GraphMemory<T> {
    /// The node that allocates it.
    pub fn node(&self) -> GraphNode {
        self.node
    }

    /// The address for a kernel in the graph to write to.
    pub fn as_mut_device_ptr(&self) -> DevicePtrMut<T> {
        self.address
    }

    /// The address for a kernel in the graph to read from.
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        self.address.into()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements; always false.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl CudaGraph {
    /// Adds an allocation of `len` elements. A graph with such a node can have only one instantiation at a time, and cannot
    /// be cloned.
    ///
    /// ```standalone_crate
    /// use cuda_launch::graph::{InstantiateFlags, KernelNode};
    /// use cuda_launch::{CudaContext, CudaGraph, LaunchConfig, kernel_args};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let scratch = graph.add_alloc::<u32>(&[], 100)?;
    /// let config = LaunchConfig::for_num_elems(100);
    /// let node = KernelNode::new(&fill, config, &[], kernel_args![scratch.as_mut_device_ptr(), 100u32, 7u32])?;
    /// // SAFETY: 1: fill takes an address, a length and a value, writes any `u32` to 100 elements, which are there
    /// // between the two nodes around it and which nothing else uses, and ends.
    /// let fill = unsafe { graph.add_kernel(&[scratch.node()], node) }?;
    /// graph.add_free(&[fill], &scratch)?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.launch(&stream)?;
    /// exec.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphAddMemAllocNode`.
    ///
    /// # Errors
    /// No elements, a size that exceeds the address space, a node of `after` that is not of this graph, or any error
    /// returned by the driver.
    #[doc(alias = "cuGraphAddMemAllocNode")]
    pub fn add_alloc<T: DeviceCopy>(
        &mut self,
        after: &[GraphNode],
        len: usize,
    ) -> Result<GraphMemory<T>, Error> {
        let size = size_of::<T>();
        let bytes = len.checked_mul(size).ok_or_else(|| Error::from(ErrorKind::Capacity { len, size }))?;
        if bytes == 0 {
            let why = format!("{len} elements of {size} bytes; a node allocates at least one byte");
            return Err(ErrorKind::from(GraphError::Unfit { node: "memory allocation", why }).into());
        }
        let mut params = self.alloc_params(bytes);
        let what = NewNode::new("cuGraphAddMemAllocNode", NodeKind::MemAlloc);
        // SAFETY: the properties name plain memory of this graph's device, as many bytes as are asked for, and nothing
        // else (`default`); they are a local that outlives the call; the rest is as `add` says.
        let node = self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddMemAllocNode(node, graph, after, count, &mut params)
        })?;
        Ok(GraphMemory { node, address: DevicePtrMut::from_raw(params.dptr), len })
    }

    /// Adds a node that frees the memory of an allocation node of this graph.
    ///
    /// Memory that the graph does not free stays allocated until the graph is launched again, which then requires
    /// [`InstantiateFlags::AUTO_FREE_ON_LAUNCH`](super::InstantiateFlags::AUTO_FREE_ON_LAUNCH).
    ///
    /// Driver call: `cuGraphAddMemFreeNode`.
    ///
    /// # Errors
    /// The memory or a node in `after` is not part of this graph, or any error returned by the driver: the free does
    /// not depend on the allocation or is not the only one, or the graph has been instantiated before.
    #[doc(alias = "cuGraphAddMemFreeNode")]
    pub fn add_free<T: DeviceCopy>(
        &mut self,
        after: &[GraphNode],
        memory: &GraphMemory<T>,
    ) -> Result<GraphNode, Error> {
        self.raw_node(memory.node)?;
        let address = memory.address.addr();
        let what = NewNode::new("cuGraphAddMemFreeNode", NodeKind::MemFree);
        // SAFETY: the address is what the driver returned for the allocation node, because only that code creates a `GraphMemory`;
        // `raw_node` found the node in this graph. That it is freed once is the driver's to check, which refuses a second node; the
        // rest is as `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddMemFreeNode(node, graph, after, count, address)
        })
    }

    fn alloc_params(&self, bytes: usize) -> CUDA_MEM_ALLOC_NODE_PARAMS {
        let mut pool = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            ..Default::default()
        };
        let mut location =
            CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ..Default::default() };
        location.__bindgen_anon_1.id = self.context().raw_device();
        pool.location = location;
        CUDA_MEM_ALLOC_NODE_PARAMS { poolProps: pool, bytesize: bytes, ..Default::default() }
    }
}
