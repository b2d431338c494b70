use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, data: &[f32]) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream.launch_builder(f).slice(&stream.clone_htod(data)?).launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}
