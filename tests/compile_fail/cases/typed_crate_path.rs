// A path where the crate is not.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx", crate = crate::gpu)]
//~ #[cuda_module("images/vectors.ptx", crate = ::cuda_launch)]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
