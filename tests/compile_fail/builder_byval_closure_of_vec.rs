// A closure that holds host memory.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    let sum = move || data.iter().sum::<f32>();
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&sum).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
