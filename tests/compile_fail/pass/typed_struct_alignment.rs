use cuda_launch::*;

#[cuda_module("examples/kernels/mix.ptx")]
mod kernels {
    pub(super) type Params = [u64; 5];

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}
