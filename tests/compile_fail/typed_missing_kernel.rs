// A kernel that the image does not have.

use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vec_add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
