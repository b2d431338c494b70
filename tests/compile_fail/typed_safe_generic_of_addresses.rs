// A kernel that was compiled for addresses, too.

use cuda_launch::*;

#[cuda_module("tests/kernels/typed.ptx")]
mod kernels {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        #[entry(f64 = "scale_double", DevicePtr<u8> = "scale_double")]
        pub safe fn scale<T>(x: &mut [T], factor: f64);
    }
}

fn main() {}
