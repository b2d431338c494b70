// Nor a slice of the host.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, host: &mut [f32]) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(host)],
        }
    }
}

fn main() {}
