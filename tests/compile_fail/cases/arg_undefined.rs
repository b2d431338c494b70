// A name that is not there.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
//~ fn launch(module: &CudaModule, stream: &CudaStream, there: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [missing],
            //~ args: [there],
        }
    }
}

fn main() {}
