// A number where the kernel takes a slice.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(first: f32, count: u64, value: u32);
    }
}

fn main() {}
