// A generic kernel without names of what it was compiled to.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

fn main() {}
