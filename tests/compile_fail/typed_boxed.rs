// A box of the host.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: Box<[f32]>);
    }
}

fn main() {}
