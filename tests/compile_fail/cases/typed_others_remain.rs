// One wrong kernel: the others are there still, so that the error is one.

use cuda_launch::*;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        pub safe fn fill(out: &mut [u32], value: bool);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    a: DeviceBuffer<f32>,
    mut c: DeviceBuffer<f32>,
) -> Result<(), Error> {
    kernels.vecadd(stream, config, &a, &a, &mut c)
}

fn main() {}
