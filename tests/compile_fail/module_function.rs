// Not a function.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let function = module.load_function("k")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
