// Nobody looks whether the launch was taken.

#![deny(unused_must_use)]

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
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
    kernels.vecadd(stream, config, &a, &a, &mut c);
    Ok(())
}

fn main() {}
