use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    type Count = u32;

    unsafe extern "C" {
        pub fn axpy(n: Count, alpha: f32, x: *const f32, y: *mut f32);
    }
}
