// The kernel adds floats.

use cuda_launch::operation::*;
use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn add(module: &kernels::Module, a: DeviceBuffer<f64>, c: DeviceBuffer<f32>) -> Result<(), Error> {
    module.vecadd_async_owned(LaunchConfig::for_num_elems(8), c.view(), a, c)?.sync().map(drop)
}

fn main() {}
