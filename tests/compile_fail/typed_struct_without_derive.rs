// A struct that is no plain data.

use cuda_launch::*;

#[cuda_module("examples/kernels/mix.ptx")]
mod kernels {
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Params {
        scale: f32,
        bias: f64,
        tag: u16,
        idx: [i32; 4],
    }

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}

fn main() {}
