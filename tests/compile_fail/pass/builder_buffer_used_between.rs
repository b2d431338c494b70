use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let mut builder = stream.launch_builder(f);
    builder.arg(&mut x);
    // SAFETY: compiled, never run.
    unsafe { builder.launch(LaunchConfig::for_num_elems(100)) }?;
    drop(x.to_host_vec(stream)?);
    Ok(())
}
