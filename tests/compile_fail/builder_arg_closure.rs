// A closure without `byval`.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, k: u32) -> Result<(), Error> {
    let add = move |i: u32| i + k;
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&add).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
