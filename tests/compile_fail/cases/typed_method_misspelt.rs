// A method that there is not.

use cuda_launch::*;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    a: DeviceBuffer<f32>,
    mut c: DeviceBuffer<f32>,
) -> Result<(), Error> {
    kernels.vec_add(stream, config, &a, &a, &mut c)
    //~ kernels.vecadd(stream, config, &a, &a, &mut c)
}

fn main() {}
