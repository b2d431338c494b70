// A buffer is read through one address and written through another.

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    mut y: DeviceBuffer<f32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { kernels.axpy(stream, config, 8, 2.0, &y, &mut y) }
}

fn main() {}
