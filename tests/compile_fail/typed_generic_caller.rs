// A function over types that the kernel was not compiled for.

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

fn doubled<T: DeviceCopy + From<u8>>(
    kernels: &kernels::Module,
    stream: &CudaStream,
    x: &mut DeviceBuffer<T>,
) -> Result<(), Error> {
    kernels.scale(stream, LaunchConfig::for_num_elems(8), x, T::from(2))
}

fn main() {}
