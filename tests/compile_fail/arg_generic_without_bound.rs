// In a generic function the type is plain by a bound.

use cuda_launch::*;

fn launch<T: Copy>(module: &CudaModule, stream: &CudaStream, value: T) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [value],
        }
    }
}

fn main() {}
