// Two images whose kernels take another number of parameters.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx", "tests/compile_fail/images/newer.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
