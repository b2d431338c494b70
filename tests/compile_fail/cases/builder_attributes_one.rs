// One attribute where a list is taken.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).attributes(Attribute::priority(0)).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).attributes([Attribute::priority(0)]).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
