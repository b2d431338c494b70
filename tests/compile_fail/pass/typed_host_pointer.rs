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
    x: DeviceBuffer<f32>,
    mut y: DeviceBuffer<f32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
}
