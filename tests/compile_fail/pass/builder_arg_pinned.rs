use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: PinnedBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x.device_view()).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
