//! Kernel nodes.

#![allow(unsafe_code)] // Calls of the driver with a checked packet; what the kernel then does is the caller's duty.

use std::sync::Arc;

use super::graph::{CudaGraph, What};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::Keep;
use crate::error::Error;
use crate::launch::KernelNode;

impl KernelNode<'_> {
    /// What the node uses: the module, and the memory that is passed to it.
    pub(super) fn share(&self) -> Share {
        let mut share = Share::object(Arc::new(self.function().clone()) as Keep);
        share.kernels.push(self.function().kernel().number);
        self.memory().iter().for_each(|(home, written)| share.add_memory(home, *written));
        share
    }
}

impl CudaGraph {
    /// Adds a kernel. Its module, and buffers passed as `slice`, `slice_mut`, `ptr` or `ptr_mut`, stay as long as the graph
    /// can run.
    ///
    /// Driver calls: `cuGraphAddKernelNode_v2`, in drivers since CUDA 12.0; `cuGraphKernelNodeSetAttribute` for each attribute.
    ///
    /// # Errors
    /// The kernel is of another context, a node of `after` is not of this graph, or whatever the driver answers.
    ///
    /// # Safety
    /// 1. The duties of [`cuda_launch!`](crate::cuda_launch) hold for every launch of the graph and of whatever is
    ///    instantiated from it, updated with it or has it inside. Where the kernel is passed plain addresses, their memory
    ///    lives, and nobody else uses it, whenever that runs.
    #[doc(alias = "cuGraphAddKernelNode")]
    pub unsafe fn add_kernel(
        &mut self,
        after: &[GraphNode],
        mut kernel: KernelNode<'_>,
    ) -> Result<GraphNode, Error> {
        self.same_context(kernel.function().context(), kernel.function().name())?;
        let name = kernel.function().name().to_string();
        let share = kernel.share();
        let what = What { call: "cuGraphAddKernelNode", kind: NodeKind::Kernel, name, share };
        let params = kernel.params();
        // SAFETY: the function's module is kept; the packet was compared with its parameters; the rest are those of `add`.
        let node = self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddKernelNode(node, graph, after, count, &params)
        })?;
        for attribute in kernel.attributes() {
            let (raw, attribute) = (self.raw_node(node)?, (attribute.name(), attribute.raw()));
            let asked = || format!("attribute {} of {}", attribute.0, kernel.function().name());
            let value = attribute.1.value;
            // SAFETY: the node is a kernel node of this graph, the value is that of the attribute.
            let set = self.context().call("cuGraphKernelNodeSetAttribute", asked, |driver| unsafe {
                driver.cuGraphKernelNodeSetAttribute(raw, attribute.1.id, &value)
            });
            if let Err(error) = set {
                // Half a node would be worse than none; the first error is the one to tell.
                let _ = self.remove(node);
                return Err(error);
            }
        }
        Ok(node)
    }
}
