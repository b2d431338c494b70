// A buffer that the same launch reads and writes.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
