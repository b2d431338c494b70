// A slice, which is two parameters, where the kernel takes two numbers.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn axpy(a: &[f32], x: *const f32, y: *mut f32);
    }
}

fn main() {}
