use cuda_launch::*;

#[cuda_module("examples/kernels/saxpy.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn launch(module: &kernels::Module, stream: &CudaStream, x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { module.saxpy(stream, LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y) }
}
