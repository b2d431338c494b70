// A kernel that one of the images does not have.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx", "tests/compile_fail/images/newer.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
