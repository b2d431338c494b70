// A closure without a name for its type.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn apply(f: impl Fn(u32), out: &mut [u32]);
    }
}

fn main() {}
