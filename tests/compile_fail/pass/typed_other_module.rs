use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod vectors {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

#[cuda_module("tests/compile_fail/images/bounds.ptx")]
mod reductions {
    unsafe extern "C" {
        pub safe fn reduce(out: &mut [u32]);
    }
}

fn clear(kernels: &vectors::Module, stream: &CudaStream, out: &mut DeviceBuffer<u32>) -> Result<(), Error> {
    kernels.fill(stream, LaunchConfig::for_num_elems(8), out, 0)
}

fn launch(context: &CudaContext, stream: &CudaStream, mut out: DeviceBuffer<u32>) -> Result<(), Error> {
    let kernels = vectors::load(context)?;
    clear(&kernels, stream, &mut out)
}
