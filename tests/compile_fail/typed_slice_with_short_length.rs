// A slice, whose length has 64 bits, where the kernel counts in 32.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn fill_n(out: &mut [u32], value: u32);
    }
}

fn main() {}
