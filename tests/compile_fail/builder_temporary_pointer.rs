// A pointer that is gone at the end of its statement.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    builder.arg(&x.as_device_ptr());
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
