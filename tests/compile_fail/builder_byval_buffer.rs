// A buffer as it stands.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
