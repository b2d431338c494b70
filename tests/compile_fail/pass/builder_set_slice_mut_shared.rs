use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream
        .launch_builder(f)
        .named("x", &mut x)
        .prepare(LaunchConfig::for_num_elems(100))?
        .set_slice_mut("x", &mut x)
}
