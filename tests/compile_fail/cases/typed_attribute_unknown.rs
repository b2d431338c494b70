// An attribute that is none.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[at_once]
        //~ #[cooperative_launch]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
