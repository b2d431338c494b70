// A source with nothing in it.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/empty.cu")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
