// What is not `Copy` is not passed as bytes, borrowed or not.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval_borrowed(text)],
        }
    }
}

fn main() {}
