// An image that is not there.

use cuda_launch::*;

#[cuda_module("examples/kernels/vec_add.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
