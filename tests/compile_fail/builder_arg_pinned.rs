// Pinned memory as the host sees it.

use cuda_launch::*;

fn launch(stream: &CudaStream, f: &CudaFunction, x: PinnedBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
