// `for_num_elems` counts in `u32`.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, n: usize) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(n),
            args: [],
        }
    }
}

fn main() {}
