// A `String` as it stands.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&text).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
