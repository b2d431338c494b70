use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let (left, mut right) = x.split_at_mut(5);
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&left).arg(&mut right).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
