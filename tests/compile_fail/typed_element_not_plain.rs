// A slice of a struct that is not `DeviceCopy`.

use cuda_launch::cuda_module;

#[repr(C)]
#[derive(Clone, Copy)]
struct Point {
    x: f32,
    y: f32,
}

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    use super::Point;

    unsafe extern "C" {
        pub(super) safe fn swap(x: &mut [Point], y: &mut [Point]);
    }
}

fn main() {}
