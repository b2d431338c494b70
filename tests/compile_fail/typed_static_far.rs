// A variable that the image does not have, near to none.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static gravitation: u32;
    }
}

fn main() {}
