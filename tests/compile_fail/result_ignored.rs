// The result of a launch has to be looked at.

#![deny(unused_must_use)]

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        };
    }
}

fn main() {}
