// Kernels read constants through a cache: none may write them.

use cuda_launch::*;
use cuda_launch::module::ModuleConstant;

fn launch(module: &CudaModule, stream: &CudaStream, x: &mut ModuleConstant<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x.view_mut())],
        }
    }
}

fn main() {}
