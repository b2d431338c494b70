// A pointer has no length.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, x: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x.as_mut_device_ptr())],
        }
    }
}

fn main() {}
