use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    let pointer = x.as_device_ptr();
    let mut builder = stream.launch_builder(f);
    builder.arg(&pointer);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
