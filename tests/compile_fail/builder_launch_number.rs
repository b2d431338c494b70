// A number where a configuration is taken.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&3u32).launch(256) }?;
    Ok(())
}

fn main() {}
