//! Handles by which kernels name nodes of graphs.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Receives the driver's handle of a kernel node that can be updated from the device (`CUgraphDeviceNode`).
///
/// [`Attribute::device_updatable_kernel_node_at`](super::Attribute::device_updatable_kernel_node_at) makes it known to a launch
/// that is captured, or to a kernel node. A kernel of the graph gets the handle as one parameter of 8 bytes, and updates the node
/// with functions of the device's library, such as `cudaGraphKernelNodeSetParam`.
///
/// The driver neither removes such a node nor clones its graph; the graph can be instantiated only once, cannot be updated, and must be
/// uploaded (`GraphExec::upload`) before it is launched.
///
/// ```
/// use cuda_launch::launch::DeviceNode;
/// use cuda_launch::Attribute;
/// let node = DeviceNode::new();
/// let attribute = Attribute::device_updatable_kernel_node_at(&node);
/// assert_eq!(node.handle(), None); // until the launch is captured
/// # let _ = attribute;
/// ```
#[derive(Debug, Default)]
#[doc(alias = "CUgraphDeviceNode")]
pub struct DeviceNode(AtomicUsize);

impl DeviceNode {
    /// One without a handle yet.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The last handle returned by the driver, valid as long as the graph.
    pub fn handle(&self) -> Option<u64> {
        let handle = self.0.load(Ordering::Relaxed);
        (handle != 0).then_some(handle as u64)
    }

    pub(super) fn set(&self, handle: usize) {
        self.0.store(handle, Ordering::Relaxed);
    }
}
