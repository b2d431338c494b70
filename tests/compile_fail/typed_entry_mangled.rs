// A kernel whose name was mangled.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn gather(from: *const f32, to: *mut f32);
    }
}

fn main() {}
