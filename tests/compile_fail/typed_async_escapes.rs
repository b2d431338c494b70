// An operation that borrows does not outlive its buffers.

use cuda_launch::operation::*;
use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn operation<'a>(module: &kernels::Module, a: &'a DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) -> Result<KernelLaunch<'a>, Error> {
    module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, &mut c)
}

fn main() {}
