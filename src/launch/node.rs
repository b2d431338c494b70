//! A kernel with its arguments as a value: checked like a launch, owned, and inert until a graph takes it.

#![allow(unsafe_code)] // Copying the bytes that a packet points at.

use cuda_driver_sys::CUDA_KERNEL_NODE_PARAMS;
use std::sync::Arc;

use super::args::{ArgumentList, Memory, ParameterType};
use super::attributes::Attribute;
use super::check;
use super::config::LaunchConfig;
use super::launch_arguments::LaunchArguments;
use super::packet::Listed;
use super::record::{Report, node_params};
use super::submit::Request;
use crate::driver::{CudaFunction, NamedArgument, PackedArguments};
use crate::error::Error;
use crate::memory::Allocation;

/// A kernel, its dimensions, attributes and arguments: what a kernel node of a graph does.
///
/// The arguments are checked against the kernel's parameters, and the dimensions against its limits, as in
/// [`cuda_launch!`](crate::cuda_launch). Their bytes are copied, so nothing stays borrowed; the module stays loaded.
///
/// ```standalone_crate
/// use cuda_launch::graph::KernelNode;
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, kernel_args};
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
    pub(super) function: CudaFunction,
    pub(super) config: LaunchConfig,
    pub(super) attributes: Vec<Attribute<'event>>,
    pub(super) types: Vec<&'static ParameterType>,
    pub(super) arguments: PackedArguments,
    /// The memory that the arguments pass, and whether it may be written.
    pub(super) memory: Vec<(Arc<Allocation>, bool)>,
    pub(super) named: Vec<NamedArgument>,
}

impl<'event> KernelNode<'event> {
    /// Checks and copies the arguments, which come from [`kernel_args!`](crate::kernel_args).
    ///
    /// No driver call, except to compose an error message.
    ///
    /// # Errors
    /// Those of [`cuda_launch!`](crate::cuda_launch): the arguments do not match, a dimension or attribute is not allowed, or a
    /// buffer belongs to another context.
    pub fn new<L: ArgumentList>(
        function: &CudaFunction,
        config: LaunchConfig,
        attributes: &[Attribute<'event>],
        arguments: L,
    ) -> Result<Self, Error> {
        Self::checked(function, config, attributes.to_vec(), Listed(&arguments))
    }

    /// The same with arguments that the caller has put together.
    pub(super) fn checked<'l, G: LaunchArguments<'l>>(
        function: &CudaFunction,
        config: LaunchConfig,
        attributes: Vec<Attribute<'event>>,
        given: G,
    ) -> Result<Self, Error> {
        let (kernel, memory, types) = (function.kernel(), given.memory(), given.types().into());
        check::arguments(kernel, types)?;
        let (raw, stream) = (config.unlaunched(), function.context().default_stream());
        let request = Request { kernel, stream: &stream, config: &raw, fields: &[], attributes: &attributes };
        check::contexts(&request, &memory)?;
        check::dimensions(&request)?;
        let types: Vec<_> = types.iter().collect();
        let mut report = Report::new(types.len());
        memory.report(&mut report);
        let (memory, named) = report.into_parts();
        let mut packet = given.packet();
        // SAFETY: 1: `LaunchArguments` 1: the packet, which lives during the call, has a pointer for each of its types, to that many bytes.
        let arguments =
            unsafe { PackedArguments::copy(G::kernel_params(&mut packet), types.iter().map(|p| p.size)) };
        Ok(Self { function: function.clone(), config, attributes, types, arguments, memory, named })
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
        let kernel_params = self.arguments.kernel_params();
        let params = node_params(self.function.kernel(), &self.config.unlaunched());
        CUDA_KERNEL_NODE_PARAMS { kernelParams: kernel_params, ..params }
    }

    /// The memory that the arguments pass, and whether it may be written.
    pub(crate) fn memory(&self) -> &[(Arc<Allocation>, bool)] {
        &self.memory
    }
}
