// A kernel over elements of any type, without names of what it was compiled to.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn gather<T>(from: *const T, to: *mut T);
    }
}

fn main() {}
