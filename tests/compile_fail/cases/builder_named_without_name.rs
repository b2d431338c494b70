// A name that is missing.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).named(&3u32).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).named("n", &3u32).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
