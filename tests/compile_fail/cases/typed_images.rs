// Several images of the same kernels.

use cuda_launch::*;

// Two images whose kernels take another number of parameters.
#[cuda_module("images/vectors.ptx", "images/newer.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod differ_in_count {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Two images whose kernels take other parameters.
#[cuda_module("images/vectors.ptx", "images/newer.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod disagree {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
