// A wrapper of a type of another size.

use cuda_launch::{DeviceCopy, cuda_module};

#[repr(transparent)]
#[derive(Clone, Copy, DeviceCopy)]
struct Celsius(f64);

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    use super::Celsius;

    unsafe extern "C" {
        pub(super) fn of_f32(out: *mut u32, value: Celsius);
    }
}

fn main() {}
