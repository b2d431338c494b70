// A task of its own may go on after the borrow: it takes the buffers.

use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn add(module: kernels::Module, a: &'static DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) -> Result<(), Error> {
    spawn(module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, &mut c)?.into_future());
    Ok(())
}

/// As of an executor.
fn spawn(_: impl Future + Send + 'static) {}

fn main() {}
