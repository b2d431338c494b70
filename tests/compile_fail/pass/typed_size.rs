use cuda_launch::*;

#[cuda_module("examples/kernels/saxpy.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}
