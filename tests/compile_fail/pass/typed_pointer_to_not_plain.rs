use cuda_launch::{DeviceCopy, cuda_module};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
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
