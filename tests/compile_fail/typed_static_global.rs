// A variable that is declared as a constant.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static counter: u64;
    }
}

fn main() {}
