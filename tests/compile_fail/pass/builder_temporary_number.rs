use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, n: u32) -> Result<(), Error> {
    let count = n + 1;
    let mut builder = stream.launch_builder(f);
    builder.arg(&count);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
