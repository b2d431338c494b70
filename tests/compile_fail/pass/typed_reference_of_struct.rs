use cuda_launch::*;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    factor: f32,
}

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    use super::Params;

    unsafe extern "C" {
        pub fn of_f32(out: *mut u32, value: Params);
    }
}

fn main() {}
