use cuda_launch::*;

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn launch(module: &kernels::Module, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    let (read, mut written) = x.split_at_mut(8);
    module.vecadd(stream, LaunchConfig::for_num_elems(8), &read, &read, &mut written)
}
