// A file in a variable that is not set.

use cuda_launch::cuda_module;

#[cuda_module(concat!(env!("KERNELS_THAT_NOBODY_SET"), "/tests/compile_fail/images/vectors.ptx"))]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
