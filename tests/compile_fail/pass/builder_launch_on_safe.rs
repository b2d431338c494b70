use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream.launch_builder(f).arg(&mut x).prepare(LaunchConfig::for_num_elems(100))?.launch_on(stream)
    }?;
    Ok(())
}
