use cuda_launch::*;

#[cuda_module("tests/kernels/typed.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "scale_float", i32 = "scale_int")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

fn launch(module: &kernels::Module, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    module.scale(stream, LaunchConfig::for_num_elems(8), &mut x, 2.0)
}
