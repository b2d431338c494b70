// A cooperative launch outside of `unsafe`.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    stream.launch_builder(f).arg(&mut x).launch_cooperative(LaunchConfig::for_num_elems(100))?;
    Ok(())
}

fn main() {}
