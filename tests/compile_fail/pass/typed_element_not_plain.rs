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
        pub(super) safe fn swap(x: &mut [Point], y: &mut [Point]);
    }
}
