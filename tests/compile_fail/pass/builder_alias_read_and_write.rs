use cuda_launch::*;

fn launch(
    stream: &CudaStream,
    f: &CudaFunction,
    x: DeviceBuffer<f32>,
    mut y: DeviceBuffer<f32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).arg(&mut y).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
