// A closure is `Copy` if what it captures is.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let table = vec![1u32, 2, 3];
    let add = move |i: usize| table[i];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(add)],
        }
    }
}

fn main() {}
