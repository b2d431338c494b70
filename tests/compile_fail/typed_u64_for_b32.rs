// Eight bytes where the image says only that there are four.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn of_b32(out: *mut u32, value: u64);
    }
}

fn main() {}
