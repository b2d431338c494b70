// A struct by value that is not `DeviceCopy`.

use cuda_launch::cuda_module;

#[repr(C)]
#[derive(Clone, Copy)]
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

fn main() {}
