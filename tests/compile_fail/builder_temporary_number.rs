// A value that is gone at the end of its statement.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, n: u32) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    builder.arg(&(n + 1));
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
