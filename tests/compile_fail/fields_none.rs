// A launch has fields.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {}
    }
}

fn main() {}
