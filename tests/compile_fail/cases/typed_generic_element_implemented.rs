// A type that the kernel was not compiled for is added from outside.

use cuda_launch::*;

#[cuda_module("images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

impl kernels::ScaleElement for u32 {}
//~

fn launch(kernels: &kernels::Module, stream: &CudaStream, x: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(stream, LaunchConfig::for_num_elems(8), x, 2.0)
}

fn main() {}
