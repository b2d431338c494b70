// A buffer that one launch writes twice.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&mut x).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
