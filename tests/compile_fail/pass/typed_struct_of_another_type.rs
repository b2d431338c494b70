use cuda_launch::*;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Step {
    x: f64,
    y: f64,
    z: f64,
}

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    use super::Step;

    unsafe extern "C" {
        pub(super) safe fn move_all(points: &mut [f32], step: Step);
    }
}

fn launch(kernels: &kernels::Module, stream: &CudaStream, mut points: DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.move_all(stream, LaunchConfig::for_num_elems(8), &mut points, Step { x: 1.0, y: 0.0, z: 0.0 })
}
