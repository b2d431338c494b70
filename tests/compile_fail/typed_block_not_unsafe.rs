// An `extern` block that is not `unsafe`.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
