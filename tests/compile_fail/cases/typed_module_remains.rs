// An image that is not named: the module is there still, so that the error is one.

use cuda_launch::*;

#[cuda_module]
//~ #[cuda_module("images/vectors.ptx")]
mod vectors {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn launch(context: &CudaContext, stream: &CudaStream, mut out: DeviceBuffer<u32>) -> Result<(), Error> {
    vectors::load(context)?.fill(stream, LaunchConfig::for_num_elems(8), &mut out, 7)
}

fn main() {}
