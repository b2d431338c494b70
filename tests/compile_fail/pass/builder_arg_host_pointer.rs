use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, p: DevicePtr<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&p).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
