// A kernel that the image does not have, one letter from one that it has.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn apxy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
