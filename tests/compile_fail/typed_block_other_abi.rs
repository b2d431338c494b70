// An `extern` block of another calling convention.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "ptx-kernel" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
