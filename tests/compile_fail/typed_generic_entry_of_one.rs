// Types for a kernel that is not generic.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32")]
        pub safe fn scale(x: &mut [f32], factor: f32);
    }
}

fn main() {}
