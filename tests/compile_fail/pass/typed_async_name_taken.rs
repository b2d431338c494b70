use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        #[entry("vecadd")]
        pub safe fn vecadd_later(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
