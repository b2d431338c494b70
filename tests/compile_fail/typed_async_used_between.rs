// What an operation writes is not read before it is done.

use cuda_launch::operation::*;
use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn add(module: &kernels::Module, stream: &CudaStream, a: DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) -> Result<(), Error> {
    let op = module.vecadd_async(LaunchConfig::for_num_elems(8), &a, &a, &mut c)?;
    c.to_host_vec(stream)?;
    op.sync()
}

fn main() {}
