// An attribute that belongs elsewhere.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[repr(C)]
        //~ #[inline]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
