// A number that the kernel would have to write.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut n: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&mut n).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
