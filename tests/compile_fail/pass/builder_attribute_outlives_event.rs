use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    let event = stream.context().new_event()?;
    let mut builder = stream.launch_builder(f);
    builder.attribute(Attribute::launch_completion_event(&event));
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
