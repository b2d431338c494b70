use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream
            .launch_builder(f)
            .slice(&stream.clone_htod(text.as_bytes())?)
            .launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}
