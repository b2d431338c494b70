// A number for a file.

use cuda_launch::cuda_module;

#[cuda_module(90)]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
