// A struct of the same size, whose fields are aligned to 4 where the kernel has 8.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: [f32; 2],
        y: [f32; 2],
        z: [f32; 2],
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}

fn main() {}
