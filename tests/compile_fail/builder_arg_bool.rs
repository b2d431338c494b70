// A `bool`: what a kernel takes as one may be of another size.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, yes: bool) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&yes).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
