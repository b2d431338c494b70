// Two images whose kernels take other parameters.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx", "tests/compile_fail/images/newer.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
