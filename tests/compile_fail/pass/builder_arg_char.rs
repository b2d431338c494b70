use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, letter: char) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).byval(&letter).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
