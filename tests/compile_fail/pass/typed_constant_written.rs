use cuda_launch::*;
use cuda_launch::module::ModuleConstant;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn swap(x: &mut [f32], y: &mut [f32]);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    mut x: ModuleConstant<f32>,
    mut y: DeviceBuffer<f32>,
) -> Result<(), Error> {
    let mut written = DeviceBuffer::<f32>::uninit(stream, x.len())?;
    kernels.swap(stream, config, &mut written, &mut y)?;
    x.view_mut().copy_from_device(stream, &written)
}
