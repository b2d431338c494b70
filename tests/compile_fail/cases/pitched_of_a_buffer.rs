// `pitched` takes rows, which a buffer has not.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, x: &DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn launch(module: &CudaModule, stream: &CudaStream, x: &memory::PitchedBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [pitched(x)],
        }
    }
}

fn main() {}
