// Types for which a generic kernel was not compiled.

use cuda_launch::*;

// A type that the kernel was not compiled for.
mod element {
    use super::*;

    #[cuda_module("../kernels/typed.ptx")]
    mod kernels {
        unsafe extern "C" {
            #[entry(f64 = "scale_double", i32 = "scale_int")]
            //~ #[entry(f32 = "scale_float", i32 = "scale_int")]
            pub safe fn scale<T>(x: &mut [T], factor: T);
        }
    }

    fn launch(module: &kernels::Module, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
        module.scale(stream, LaunchConfig::for_num_elems(8), &mut x, 2.0)
    }
}

// A function over types that the kernel was not compiled for.
mod generic_caller {
    use super::*;

    #[cuda_module("images/generic.ptx")]
    mod kernels {
        unsafe extern "C" {
            #[entry(f32 = "scale_f32", f64 = "scale_f64")]
            pub safe fn scale<T>(x: &mut [T], factor: T);
        }
    }

    fn doubled<T: DeviceCopy + From<u8>>(kernels: &kernels::Module, stream: &CudaStream, x: &mut DeviceBuffer<T>) -> Result<(), Error> {
    //~ fn doubled<T: DeviceCopy + From<u8> + kernels::ScaleElement>(
    //+     kernels: &kernels::Module,
    //+     stream: &CudaStream,
    //+     x: &mut DeviceBuffer<T>,
    //+ ) -> Result<(), Error> {
        kernels.scale(stream, LaunchConfig::for_num_elems(8), x, T::from(2))
    }
}

// A type that the kernel was not compiled for.
mod generic_type_without_entry {
    use super::*;

    #[cuda_module("images/generic.ptx")]
    mod kernels {
        unsafe extern "C" {
            #[entry(f32 = "scale_f32", f64 = "scale_f64")]
            pub safe fn scale<T>(x: &mut [T], factor: T);
        }
    }

    fn launch(kernels: &kernels::Module, stream: &CudaStream, config: LaunchConfig, mut x: DeviceBuffer<u32>) -> Result<(), Error> {
    //~ fn launch(kernels: &kernels::Module, stream: &CudaStream, config: LaunchConfig, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
        kernels.scale(stream, config, &mut x, 2)
        //~ kernels.scale(stream, config, &mut x, 2.0)
    }
}

fn main() {}
