// A module without an `extern` block.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    pub const BLOCK: u32 = 256;
}

fn main() {}
