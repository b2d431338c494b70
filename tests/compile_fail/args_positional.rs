// A launch is not a function call.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            k, module, stream, LaunchConfig::for_num_elems(100), []
        }
    }
}

fn main() {}
