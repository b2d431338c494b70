// A part that is read of a buffer that is written.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream.launch_builder(f).arg(&x.slice(..5)).arg(&mut x).launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}

fn main() {}
