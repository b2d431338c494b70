// A variable that the image does not have.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static level: [f32; 4];
    }
}

fn main() {}
