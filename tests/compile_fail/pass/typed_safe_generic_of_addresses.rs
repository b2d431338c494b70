use cuda_launch::*;

#[cuda_module("tests/kernels/typed.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f64 = "scale_double", u64 = "scale_double")]
        pub safe fn scale<T>(x: &mut [T], factor: f64);
    }
}

fn main() {}
