// An attribute of kernels on a variable.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_bounds(256)]
        pub static LIMIT: u32;
    }
}

fn main() {}
