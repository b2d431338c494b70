use cuda_launch::operation::*;
use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn add(module: &kernels::Module, a: std::sync::Arc<DeviceBuffer<f32>>, c: DeviceBuffer<f32>) -> Result<(), Error> {
    module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.clone(), a.clone(), c)?.sync().map(drop)
}

fn main() {}
