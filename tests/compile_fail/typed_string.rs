// Text of the host.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn swap(x: &mut [u8], y: String);
    }
}

fn main() {}
