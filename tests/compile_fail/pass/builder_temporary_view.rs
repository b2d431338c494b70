use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    let view = x.slice(1..);
    let mut builder = stream.launch_builder(f);
    builder.arg(&view);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}
