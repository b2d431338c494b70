// The address of a struct that is not `DeviceCopy`.

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
        pub(super) fn axpy(n: u32, alpha: f32, x: *const Point, y: *mut f32);
    }
}

fn main() {}
