// A view that is only read.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream.launch_builder(f).slice_mut(&mut x.slice(5..)).launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}

fn main() {}
