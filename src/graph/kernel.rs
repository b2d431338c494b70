//! Kernel nodes.

#![allow(unsafe_code)] // Calls of the driver with a checked packet; what the kernel then does is the caller's duty.

use cuda_driver_sys::CUlaunchAttribute;
use std::sync::Arc;

use super::graph::{CudaGraph, NewNode};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::{Keep, older};
use crate::error::Error;
use crate::launch::{Attribute, KernelNode};

impl KernelNode<'_> {
    /// What the node uses: the module, events that its attributes record, and the memory that is passed to it.
    pub(super) fn share(&self) -> Share {
        let mut share = Share::object(Arc::new(self.function().clone()) as Keep);
        share.objects.extend(self.attributes().iter().filter_map(Attribute::share));
        share.kernels.push(self.function().kernel().number);
        self.memory().iter().for_each(|(allocation, written)| share.add_memory(allocation, *written));
        share
    }
}

impl CudaGraph {
    /// Adds a kernel. Its module, events among its attributes, and buffers passed as `slice`, `slice_mut`, `ptr` or
    /// `ptr_mut` stay alive as long as the graph can run.
    ///
    /// Driver calls: `cuGraphAddKernelNode_v2`, or its first ABI before CUDA 12.0; `cuGraphKernelNodeSetAttribute` for each attribute, and
    /// for a [`DeviceNode`](crate::launch::DeviceNode) `cuGraphKernelNodeGetAttribute`.
    ///
    /// # Errors
    /// The kernel belongs to another context, a node in `after` is not part of this graph, or any error returned by the
    /// driver.
    ///
    /// # Safety
    /// 1. The duties of [`cuda_launch!`](crate::cuda_launch) hold for every launch of the graph and of anything that is
    ///    instantiated from it, updated with it or contains it. If the kernel is passed plain addresses, their memory
    ///    is alive, and nothing else uses it, whenever that runs.
    ///
    ///    A launch is ordered as a whole against other work; its nodes are ordered by their dependencies alone. That is part of the
    ///    aliasing duty: no node that may run at the same time writes what this kernel reads, or uses what it writes. Nodes that
    ///    are added later ([`add_memset`](CudaGraph::add_memset), [`add_copy`](CudaGraph::add_copy)) and changes of
    ///    dependencies ([`remove_dependency`](CudaGraph::remove_dependency), [`Edge::PROGRAMMATIC`](super::Edge::PROGRAMMATIC))
    ///    are safe to call, and are not checked: the code that adds the kernel is responsible for what is done with the graph
    ///    afterwards, or must not rely on an order.
    /// 2. If the kernel launches graphs (`cudaGraphLaunch`) other than its own: from the launch of this graph until that is done, with all
    ///    that it led to, each of them exists, and is neither changed, uploaded nor launched by anybody else. Duty 1 holds for their
    ///    kernels; the memory that their nodes use stays allocated, and nothing else uses what they write, or writes what they read,
    ///    but what the device runtime orders before or after them. The driver knows nothing of that, nor does this crate: it
    ///    neither keeps these graphs and their memory alive nor orders it. See [launches by kernels](super::GraphExec#launches-by-kernels).
    #[doc(alias = "cuGraphAddKernelNode")]
    pub unsafe fn add_kernel(
        &mut self,
        after: &[GraphNode],
        mut kernel: KernelNode<'_>,
    ) -> Result<GraphNode, Error> {
        self.same_context(kernel.function().context(), kernel.function().name())?;
        let name = kernel.function().name().to_string();
        let share = kernel.share();
        let mut what =
            NewNode { call: "cuGraphAddKernelNode", kind: NodeKind::Kernel, name, share, captured: false };
        let params = kernel.params();
        let family = self.family.lock()?;
        // SAFETY: 1: the share keeps the function's module as long as the node can run; `kernel` has the packet, which
        // outlives the call and was compared with the parameters as far as they are known. The rest of the types, and
        // what the kernel does, are the caller's duty 1; all else is as `add` says.
        let node = self.add_locked(after, &mut what, |driver, node, graph, after, count| unsafe {
            older::add_kernel_node(driver, node, graph, after, count, &params)
        })?;
        let set = kernel.attributes().iter().try_for_each(|a| self.set_attribute(node, a));
        // Half a node would be worse than none; the first error is the one to tell. What it used is dropped after the lock.
        let _gone = set.is_err().then(|| self.remove_locked(node));
        drop(family);
        set.map(|()| node)
    }

    /// Gives a kernel node an attribute; the family is locked.
    fn set_attribute(&self, node: GraphNode, attribute: &Attribute<'_>) -> Result<(), Error> {
        let raw = self.raw_node(node)?;
        let CUlaunchAttribute { id, mut value, .. } = attribute.raw();
        let asked = || format!("attribute {}", attribute.name());
        // SAFETY: `add_kernel`, which alone calls this, has just added the kernel node, and the family is locked since,
        // so that it lives. The id says which member of the value is set, and the share keeps its event, or duty 2 of
        // `Attribute::from_raw` what it refers to; the value is a local, into which the driver may write.
        self.context().call("cuGraphKernelNodeSetAttribute", asked, |driver| unsafe {
            driver.cuGraphKernelNodeSetAttribute(raw, id, &raw mut value)
        })?;
        // SAFETY: an attribute that lends a node is of the id that this member goes with, which is set; any bits are a pointer.
        if attribute.node().is_some() && unsafe { value.deviceUpdatableKernelNode.devNode }.is_null() {
            // SAFETY: the node lives, as above; `value` is a local, which outlives the call, and has room for every attribute.
            self.context().call("cuGraphKernelNodeGetAttribute", asked, |driver| unsafe {
                driver.cuGraphKernelNodeGetAttribute(raw, id, &mut value)
            })?;
        }
        attribute.answered(&value);
        Ok(())
    }
}
