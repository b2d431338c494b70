// The device cannot call a function of the host.

use cuda_launch::*;

fn twice(x: u32) -> u32 {
    2 * x
}

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [twice],
        }
    }
}

fn main() {}
