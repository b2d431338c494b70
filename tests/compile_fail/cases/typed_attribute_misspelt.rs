// An attribute that is nearly one of the macro.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_bound(256)]
        //~ #[launch_bounds(256)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
