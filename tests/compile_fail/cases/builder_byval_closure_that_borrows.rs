// A closure that borrows the host.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, data: &[u32; 4]) -> Result<(), Error> {
    let sum = || data.iter().sum::<u32>();
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&sum).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).byval_borrowed(&sum).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
