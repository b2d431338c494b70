// Text.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg("text").launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
