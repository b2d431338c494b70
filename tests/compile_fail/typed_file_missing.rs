// A file that is not there.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vector.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
