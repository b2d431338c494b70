// An event that is gone before the launch.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    let event = stream.context().new_event()?;
    builder.attribute(Attribute::launch_completion_event(&event));
    drop(event);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
