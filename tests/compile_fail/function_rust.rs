// Not a function of the host.

use cuda_launch::*;

fn launch(stream: &CudaStream, kernel: fn(u32)) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: kernel,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
