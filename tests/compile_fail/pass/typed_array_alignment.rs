use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    #[repr(C, align(16))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub(super) struct Quaternion([f32; 4]);

    unsafe extern "C" {
        pub(super) safe fn turn_fast(points: &mut [f32], quaternion: Quaternion);
    }
}
