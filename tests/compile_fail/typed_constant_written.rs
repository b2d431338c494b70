// Kernels read constants through a cache: none may write them, not even by way of a view for copies.

use cuda_launch::*;
use cuda_launch::module::ModuleConstant;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn swap(x: &mut [f32], y: &mut [f32]);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    mut x: ModuleConstant<f32>,
    mut y: DeviceBuffer<f32>,
) -> Result<(), Error> {
    kernels.swap(stream, config, &mut x.view_mut(), &mut y)
}

fn main() {}
