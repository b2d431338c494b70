//! Memory copies.

#![allow(unsafe_code)] // Calls of the driver on memory that the graph keeps.

use cuda_driver_sys::{CUDA_MEMCPY3D, CUmemorytype};
use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, Share, Use};
use crate::driver::{CudaContext, Resource, StreamAccesses};
use crate::error::{Error, ErrorKind, LengthMismatch};
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut};

/// Host memory that graphs copy from and to: shared ownership, so that it lives as long as they can run.
///
/// Handles are cheap to clone. The memory is pageable, not pinned: the driver copies it in pieces. Launches of graphs that
/// use it are ordered by it, as by device memory.
///
/// ```
/// use cuda_launch::graph::HostMemory;
/// let memory = HostMemory::new(vec![1u32, 2, 3]);
/// assert_eq!(memory.len(), 3);
/// // SAFETY: 1: no graph uses it yet; 2: nobody else has it.
/// assert_eq!(unsafe { memory.to_vec() }, [1, 2, 3]);
/// ```
#[derive(Clone)]
pub struct HostMemory<T: DeviceCopy> {
    elements: Arc<Elements<T>>,
}

/// The elements, as raw memory: the device writes them behind the compiler's back.
struct Elements<T> {
    all: Box<[UnsafeCell<T>]>,
    /// The streams of the launches that use them. They may be of any context.
    accesses: StreamAccesses,
}

// SAFETY: by duty 1 of `DeviceCopy` a `T` is no more than its bytes, of which every thread could make one, and by duty 3 none of them
// points into the host's memory.
unsafe impl<T: DeviceCopy> Send for Elements<T> {}
// SAFETY: as above; through a shared reference elements are read by `to_vec` and written by `write` alone, which are unsafe, and whose
// duties are that nobody writes, or uses, them meanwhile.
unsafe impl<T: DeviceCopy> Sync for Elements<T> {}

impl<T: DeviceCopy> Resource for Elements<T> {
    fn accesses(&self) -> &StreamAccesses {
        &self.accesses
    }

    fn escape(&self) {
        // Only copies of graphs are given the address.
    }
}

impl<T: DeviceCopy> HostMemory<T> {
    /// Takes ownership of these elements.
    ///
    /// ```
    /// use cuda_launch::graph::HostMemory;
    /// let memory = HostMemory::new(vec![1.0f32; 4]);
    /// assert_eq!(memory.len(), 4);
    /// ```
    pub fn new(elements: Vec<T>) -> Self {
        // 0: no context owns it.
        let (all, accesses) = (elements.into_iter().map(UnsafeCell::new).collect(), StreamAccesses::new(0));
        Self { elements: Arc::new(Elements { all, accesses }) }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements.all.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements.
    ///
    /// # Safety
    /// 1. No launch of a graph that writes them is running: the host has waited for it.
    /// 2. Nothing else writes them in the meantime.
    pub unsafe fn to_vec(&self) -> Vec<T> {
        // SAFETY: the element is this value's; neither a launch nor anybody else writes it meanwhile, by the caller's duties 1 and 2.
        // Whatever a graph has written is a `T`, as `DeviceCopy` takes every bit pattern.
        self.elements.all.iter().map(|element| unsafe { element.get().read_volatile() }).collect()
    }

    /// Overwrites the elements from the first on; elements beyond the length of `source` do not change.
    ///
    /// # Safety
    /// 1. No launch of a graph that uses them is running: the host has waited for it.
    /// 2. Nothing else uses them in the meantime.
    pub unsafe fn write(&self, source: &[T]) {
        for (element, value) in self.elements.all.iter().zip(source) {
            // SAFETY: the element is this value's; neither a launch nor anybody else uses it meanwhile, by the caller's duties 1 and 2.
            unsafe { element.get().write_volatile(*value) };
        }
    }

    fn address(&self) -> *mut std::ffi::c_void {
        self.elements.all.as_ptr().cast_mut().cast()
    }

    /// A share in the memory: launches that use it are ordered by it. Also as an object, which stays until the launch is done.
    fn share(&self, written: bool) -> Share {
        let mut share = Share::object(self.elements.clone());
        share.memory.push(Use { resource: self.elements.clone(), written });
        share
    }
}

impl<T: DeviceCopy> fmt::Debug for HostMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostMemory of {} elements", self.len())
    }
}

/// One copy, as a value: what a memcpy node does. Its memory is kept alive by whatever takes it.
///
/// It borrows nothing: device memory is that of a [`DeviceBuffer`](crate::DeviceBuffer), whose release is deferred, and
/// host memory is shared.
///
/// ```
/// use cuda_launch::graph::{CopyNode, HostMemory, InstantiateFlags};
/// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let (input, output) = (HostMemory::new(vec![1u32, 2, 3]), HostMemory::new(vec![0u32; 3]));
/// let mut buffer = DeviceBuffer::zeroed(&stream, 3)?;
/// let mut graph = CudaGraph::new(&ctx)?;
/// let there = graph.add_copy(&[], CopyNode::host_to_device(&input, &mut buffer)?)?;
/// graph.add_copy(&[there], CopyNode::device_to_host(&buffer, &output)?)?;
/// drop(buffer);
/// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
/// stream.synchronize()?;
/// // SAFETY: 1: the host has waited for the only launch; 2: nothing but launches writes it.
/// assert_eq!(unsafe { output.to_vec() }, [1, 2, 3]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUDA_MEMCPY3D")]
pub struct CopyNode {
    pub(super) context: CudaContext,
    pub(super) share: Share,
    from: Side,
    to: Side,
    bytes: usize,
}

#[derive(Debug)]
enum Side {
    Device(u64),
    Host(*mut std::ffi::c_void),
}

// SAFETY: the only pointer is of host memory that `share` keeps, which is Send and Sync, and is followed by the driver alone; the rest
// is Send.
unsafe impl Send for CopyNode {}
// SAFETY: as above; nothing is changed through a shared reference, and the rest is Sync.
unsafe impl Sync for CopyNode {}

impl CopyNode {
    /// From host memory to device memory of the same length. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{CopyNode, HostMemory, InstantiateFlags};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let host = HostMemory::new(vec![5.0f32; 4]);
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_copy(&[], CopyNode::host_to_device(&host, &mut x)?)?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// assert_eq!(x.to_host_vec(&stream)?, [5.0; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ.
    pub fn host_to_device<T: DeviceCopy>(
        from: &HostMemory<T>,
        to: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<Self, Error> {
        let to = to.parts_mut();
        let mut share = from.share(false);
        share.add_memory(to.allocation, true);
        let side = (Side::Host(from.address()), Side::Device(*to.address));
        Self::new::<T>(to.allocation.context(), share, side, (from.len(), *to.len))
    }

    /// From device memory to host memory of the same length. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{CopyNode, HostMemory, InstantiateFlags};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let host = HostMemory::new(vec![0.0f32; 4]);
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_copy(&[], CopyNode::device_to_host(&x, &host)?)?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// stream.synchronize()?;
    /// // SAFETY: 1: the host has waited for the only launch; 2: nothing but launches writes it.
    /// assert_eq!(unsafe { host.to_vec() }, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ.
    pub fn device_to_host<T: DeviceCopy>(
        from: &(impl DeviceSlice<Element = T> + ?Sized),
        to: &HostMemory<T>,
    ) -> Result<Self, Error> {
        let from = from.parts();
        let mut share = to.share(true);
        share.add_memory(from.allocation, false);
        let side = (Side::Device(*from.address), Side::Host(to.address()));
        Self::new::<T>(from.allocation.context(), share, side, (*from.len, to.len()))
    }

    /// From device memory to other device memory of the same length and context. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer};
    /// use cuda_launch::graph::{CopyNode, InstantiateFlags};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut y = DeviceBuffer::<f32>::zeroed(&stream, 4)?;
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// graph.add_copy(&[], CopyNode::device_to_device(&x, &mut y)?)?;
    /// graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
    /// assert_eq!(y.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths or the contexts differ.
    pub fn device_to_device<T: DeviceCopy>(
        from: &(impl DeviceSlice<Element = T> + ?Sized),
        to: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
    ) -> Result<Self, Error> {
        let (from, to) = (from.parts(), to.parts_mut());
        to.allocation.context().same_context(from.allocation.context(), "the source", "the destination")?;
        let mut share = Share::default();
        share.add_memory(from.allocation, false);
        share.add_memory(to.allocation, true);
        let side = (Side::Device(*from.address), Side::Device(*to.address));
        Self::new::<T>(to.allocation.context(), share, side, (*from.len, *to.len))
    }

    fn new<T>(
        context: &CudaContext,
        share: Share,
        (from, to): (Side, Side),
        (source_len, destination_len): (usize, usize),
    ) -> Result<Self, Error> {
        if source_len != destination_len {
            let error = LengthMismatch { call: "a memcpy node", source_len, destination_len };
            return Err(ErrorKind::Length(error).into());
        }
        Ok(Self { context: context.clone(), share, from, to, bytes: source_len * size_of::<T>() })
    }

    /// The driver's form.
    pub(super) fn params(&self) -> CUDA_MEMCPY3D {
        let mut params =
            CUDA_MEMCPY3D { WidthInBytes: self.bytes, Height: 1, Depth: 1, ..Default::default() };
        match self.from {
            Side::Device(address) => {
                (params.srcMemoryType, params.srcDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, address);
            }
            Side::Host(address) => {
                (params.srcMemoryType, params.srcHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, address);
            }
        }
        match self.to {
            Side::Device(address) => {
                (params.dstMemoryType, params.dstDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, address);
            }
            Side::Host(address) => {
                (params.dstMemoryType, params.dstHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, address);
            }
        }
        params
    }
}

impl CudaGraph {
    /// Adds a copy. The memory stays allocated as long as the graph can run, and each launch is ordered against its
    /// other uses.
    ///
    /// Only the dependencies that it is given order it against other nodes of the graph, even if both use the same
    /// memory. Without a dependency the two may run at the same time, and the memory then contains any mixture of both.
    /// Captured work relies on an order: [`CudaGraph::instantiate`] adds what is missing there. Kernels may rely on it as well: see duty 1
    /// of [`CudaGraph::add_kernel`].
    ///
    /// Driver call: `cuGraphAddMemcpyNode`.
    ///
    /// # Errors
    /// The memory belongs to another context, a node in `after` is not part of this graph, or any error returned by the
    /// driver: an empty copy cannot be a node.
    #[doc(alias = "cuGraphAddMemcpyNode")]
    pub fn add_copy(&mut self, after: &[GraphNode], copy: CopyNode) -> Result<GraphNode, Error> {
        self.same_context(&copy.context, "the memory of a copy")?;
        let (params, context) = (copy.params(), self.context().raw());
        let what = NewNode::new("cuGraphAddMemcpyNode", NodeKind::Memcpy).using(copy.share);
        // SAFETY: `CopyNode::new` compared the lengths of both sides, which are kept with the node; `params` is a local, which outlives
        // the call; the context is the graph's, which was compared; the rest is as `add` says.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddMemcpyNode(node, graph, after, count, &params, context)
        })
    }
}
