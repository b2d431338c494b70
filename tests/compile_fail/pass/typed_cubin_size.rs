use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/vecadd_sm90.cubin")]
mod kernels {
    unsafe extern "C" {
        pub fn vecadd(a: &[f32], b: &[f32], c: *mut f32, n: u64);
    }
}
