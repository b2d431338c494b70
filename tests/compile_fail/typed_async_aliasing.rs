// What is written is read through another argument.

use cuda_launch::operation::*;
use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn add(module: &kernels::Module, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    module.vecadd_async(LaunchConfig::for_num_elems(8), &x, &x, &mut x)?.sync()
}

fn main() {}
