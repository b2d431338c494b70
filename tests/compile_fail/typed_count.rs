// A slice is two parameters, and this kernel takes addresses.

use cuda_launch::*;

#[cuda_module("examples/kernels/saxpy.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: f32, x: &[f32], y: &mut [f32]);
    }
}

fn main() {}
