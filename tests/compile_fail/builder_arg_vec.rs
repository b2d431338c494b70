// Host memory.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&data).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
