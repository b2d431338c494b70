// `cluster_dim` is given once.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cluster_dim: (2, 1, 1),
            cluster_dim: (2, 1, 1),
        }
    }
}

fn main() {}
