// A struct of the same size that is aligned otherwise.

use cuda_launch::*;

#[cuda_module("examples/kernels/mix.ptx")]
mod kernels {
    pub type Params = [u32; 10];

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}

fn main() {}
