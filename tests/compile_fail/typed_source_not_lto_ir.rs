// A file with the ending of LTO IR and other contents.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/damaged.ltoir")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
