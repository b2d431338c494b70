use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f32,
    }

    unsafe extern "C" {
        pub(super) fn of_f32(out: *mut u32, value: Step);
    }
}
