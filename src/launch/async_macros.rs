//! `cuda_launch_async!`, which shares the fields of `cuda_launch!`.

/// A kernel launch as an operation without output: a deferred [`cuda_launch!`](crate::cuda_launch), on a stream that the schedule
/// chooses.
///
/// Usable only inside `unsafe`. Fields and arguments are those of [`cuda_launch!`](crate::cuda_launch), except `stream`. Values are
/// copied; buffers and views stay borrowed until the operation is dropped, and are ordered as there. If the module has no such
/// kernel, running the operation returns the error.
///
/// ```standalone_crate
/// use cuda_launch::operation::DeviceOperation;
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch_async};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../examples/kernels/vecadd.ptx"))?;
/// let a = DeviceBuffer::from_host(&stream, &[1.0f32; 100])?;
/// let b = DeviceBuffer::from_host(&stream, &[2.0f32; 100])?;
/// let mut c = DeviceBuffer::<f32>::zeroed(&stream, 100)?;
/// // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: buffers are ordered; 5, 6: it writes floats, and ends.
/// let op = unsafe {
///     cuda_launch_async! { kernel: vecadd, module: module, config: LaunchConfig::for_num_elems(100),
///                          args: [slice(a), slice(b), slice_mut(c)] }
/// };
/// op.sync()?;
/// assert_eq!(c.to_host_vec(&stream)?, [3.0; 100]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Safety
/// 1. The duties of [`cuda_launch!`](crate::cuda_launch), whenever the operation runs. Memory whose address is passed as a plain
///    value lives until the work is done, even if the future is dropped before.
#[macro_export]
macro_rules! cuda_launch_async {
    ($($fields:tt)*) => {
        $crate::__cuda_launch_fields!({[] [] [] [@async] [] [] [] [] []} $($fields)*)
    };
}

/// The kernel, from its name or a handle, as an owned value.
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda_launch_owned {
    ([$function:expr] []) => {
        ::core::result::Result::<$crate::CudaFunction, $crate::Error>::Ok(::core::clone::Clone::clone(
            $crate::__private::FunctionRef::function_ref($function),
        ))
    };
    ([] [$module:expr] name $name:expr) => {
        $crate::__private::ModuleRef::module_ref($module).load_function($name)
    };
    ([] [$module:expr] dynamic $name:expr) => {
        $crate::__private::ModuleRef::module_ref($module)
            .load_function($crate::__private::KernelName::kernel_name(&$name))
    };
}
