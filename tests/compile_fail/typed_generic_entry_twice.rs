// Two entries for one type.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f32 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

fn main() {}
