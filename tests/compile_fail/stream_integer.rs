// `stream` takes a stream.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let _ = stream;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: 0,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
