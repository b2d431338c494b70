use cuda_launch::cuda_module;

#[cuda_module("examples/kernels/vecadd.cu")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}
