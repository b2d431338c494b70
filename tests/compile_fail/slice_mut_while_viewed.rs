// Not while a view is in use.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let view = x.slice(50..);
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x), slice(view)],
        }
    }
}

fn main() {}
