use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/vecadd.ltoir")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}
