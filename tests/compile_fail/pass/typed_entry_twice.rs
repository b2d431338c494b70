use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry("vecadd")]
        pub safe fn add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}
