// Not a module.

use cuda_launch::*;

fn launch(stream: &CudaStream, module: &CudaModule) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
