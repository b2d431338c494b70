// A field that there is not.

use cuda_launch::*;

// A field that is written in another way.
fn misspelt(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            arguments: [],
            //~ args: [],
        }
    }
}

// A field that there is not.
fn unknown(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            blocks: 3,
            //~
        }
    }
}

fn main() {}
