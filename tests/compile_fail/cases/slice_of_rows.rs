// Rows are not one slice, because of what is between them.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, x: &memory::PitchedBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(x)],
            //~ args: [pitched(x)],
        }
    }
}

fn main() {}
