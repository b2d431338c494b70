// A buffer that may not be there.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: Option<DeviceBuffer<f32>>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
