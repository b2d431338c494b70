//! A library over cudarc, with a bug: docs/testing.md has the line that finds it.

#![allow(unsafe_code)] // Vouches for the arguments of a launch and for an address.

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::sync::Arc;

/// The numbers times a factor, in the memory that they were copied to: the kernel gets its bare address twice.
fn scaled(
    stream: &Arc<CudaStream>,
    scale: &CudaFunction,
    numbers: &[f32],
    factor: f32,
) -> Result<Vec<f32>, DriverError> {
    let (count, address) = (numbers.len() as u32, stream.clone_htod(numbers)?.leak());
    let mut launch = stream.launch_builder(scale);
    launch.arg(&count).arg(&factor).arg(&address).arg(&address);
    // SAFETY: scale takes a count, a factor and two addresses of that many floats, which may be the same.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }?; // the bug
    // SAFETY: the memory of above, which nobody else owns.
    let memory = unsafe { stream.upgrade_device_ptr::<f32>(address, numbers.len()) };
    stream.clone_dtoh(&memory)
}

pub(crate) fn main() -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(include_str!("../kernels/scale.ptx")))?;
    let result = scaled(&stream, &module.load_function("scale")?, &[1.0, 2.0, 3.0], 2.0)?;
    assert_eq!(result, [2.0, 4.0, 6.0]);
    Ok(())
}
