// The bytes of a file for its name.

use cuda_launch::cuda_module;

#[cuda_module(include_bytes!("tests/compile_fail/images/vectors.ptx"))]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
