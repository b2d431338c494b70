// `function` takes a function that was looked up.

use cuda_launch::*;

fn launch(stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: "k",
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
