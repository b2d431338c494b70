// Two mutable views of one buffer.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        stream
            .launch_builder(f)
            .arg(&mut x.slice_mut(..5))
            .arg(&mut x.slice_mut(5..))
            .launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}

fn main() {}
