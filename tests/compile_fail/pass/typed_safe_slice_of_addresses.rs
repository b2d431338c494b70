use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        #[entry("vecadd")]
        pub fn of_addresses(a: &[DevicePtr<f32>], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
