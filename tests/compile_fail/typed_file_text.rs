// A file that is no image.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/notes.txt")]
mod kernels {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
