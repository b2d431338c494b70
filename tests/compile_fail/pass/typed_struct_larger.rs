use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f64,
        y: f64,
        z: f64,
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}
