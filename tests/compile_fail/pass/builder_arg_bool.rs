use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, yes: bool) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&yes).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
