// A buffer or view is two parameters, or one: say which.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let x = DeviceBuffer::<f32>::zeroed(stream, 100)?;
    let mut y = DeviceBuffer::<f32>::zeroed(stream, 100)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [
                x,
                //~ slice(x),
                &x,
                //~ ptr(x),
                &mut y,
                //~ slice_mut(&mut y),
                x.slice(1..3),
                //~ slice(x.slice(1..3)),
            ],
        }
    }
}

fn main() {}
