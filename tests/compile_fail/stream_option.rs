// Not an `Option`.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, chosen: Option<&CudaStream>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: chosen,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
