//! A kernel with its arguments as a value: checked like a launch, owned, and inert until a graph takes it.

#![allow(unsafe_code)] // Copying the bytes that a packet points at.

use cuda_driver_sys::CUDA_KERNEL_NODE_PARAMS;
use std::sync::Arc;

use super::args::{ArgumentList, Memory};
use super::attributes::Attribute;
use super::check;
use super::config::LaunchConfig;
use super::packet::Packet;
use super::record::{Report, node_params};
use super::submit::Request;
use crate::driver::{CudaFunction, PackedArguments};
use crate::error::Error;
use crate::memory::Home;

/// A kernel, its dimensions, attributes and arguments: what a kernel node of a graph does.
///
/// The arguments are checked against the kernel's parameters, and the dimensions against its limits, as in
/// [`cuda_launch!`](crate::cuda_launch). Their bytes are copied, so that nothing borrowed is left; the module stays loaded.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer, KernelNode, LaunchConfig, kernel_args};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let fill = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
/// let mut x = DeviceBuffer::<u32>::zeroed(&stream, 100)?;
/// let config = LaunchConfig::for_num_elems(100);
/// let node = KernelNode::new(&fill, config, &[], kernel_args![x.as_mut_device_ptr(), 100u32, 7u32])?;
/// assert_eq!(node.function().name(), "fill");
/// let wrong = KernelNode::new(&fill, config, &[], kernel_args![x.as_mut_device_ptr(), 100u64, 7u32]);
/// assert!(wrong.unwrap_err().is_argument_mismatch());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUDA_KERNEL_NODE_PARAMS")]
pub struct KernelNode<'event> {
    function: CudaFunction,
    params: NodeParams,
    arguments: PackedArguments,
    attributes: Vec<Attribute<'event>>,
    memory: Vec<(Arc<Home>, bool)>,
}

/// As given to the driver; the pointers inside are null but for the function.
#[derive(Clone, Copy, Debug)]
struct NodeParams(CUDA_KERNEL_NODE_PARAMS);

// SAFETY: a CUfunction may be used from every thread; the other pointers are null.
unsafe impl Send for NodeParams {}
// SAFETY: as above.
unsafe impl Sync for NodeParams {}

impl<'event> KernelNode<'event> {
    /// Checks and copies. `arguments` come from [`kernel_args!`](crate::kernel_args).
    ///
    /// No driver call, but for what a message needs.
    ///
    /// # Errors
    /// As [`cuda_launch!`](crate::cuda_launch): the arguments do not fit, a dimension or attribute is not allowed, a buffer
    /// is of another context.
    pub fn new<L: ArgumentList>(
        function: &CudaFunction,
        config: LaunchConfig,
        attributes: &[Attribute<'event>],
        arguments: L,
    ) -> Result<Self, Error> {
        let (kernel, context) = (function.kernel(), function.context());
        check::arguments(kernel, L::SIGNATURE)?;
        let memory = arguments.memory();
        let raw = config.unlaunched();
        let stream = context.default_stream();
        let request = Request { kernel, stream: &stream, config: &raw, fields: &[], attributes };
        check::contexts(&request, &memory)?;
        check::dimensions(&request)?;
        let mut report = Report::new(L::SIGNATURE);
        memory.report(&mut report);
        let mut packet = Packet::new(&arguments);
        let sizes = super::args::Signature::parameters(L::SIGNATURE).map(|p| p.size);
        // SAFETY: 1: the packet has a pointer for each entry of the signature, to that many bytes.
        let packed = unsafe { PackedArguments::copy(packet.kernel_params(), sizes) };
        Ok(Self {
            function: function.clone(),
            params: NodeParams(node_params(kernel, &raw)),
            arguments: packed,
            attributes: attributes.to_vec(),
            memory: report.into_memory(),
        })
    }

    /// The kernel.
    pub fn function(&self) -> &CudaFunction {
        &self.function
    }

    /// The attributes.
    pub fn attributes(&self) -> &[Attribute<'event>] {
        &self.attributes
    }

    /// The driver's form, valid until the next use of `self`.
    pub(crate) fn params(&mut self) -> CUDA_KERNEL_NODE_PARAMS {
        CUDA_KERNEL_NODE_PARAMS { kernelParams: self.arguments.kernel_params(), ..self.params.0 }
    }

    /// The memory that the arguments pass, and whether it may be written.
    pub(crate) fn memory(&self) -> &[(Arc<Home>, bool)] {
        &self.memory
    }
}
