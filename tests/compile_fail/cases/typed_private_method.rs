// A kernel that its module keeps to itself.

use cuda_launch::*;

mod physics {
    #[cuda_launch::cuda_module("images/vectors.ptx")]
    pub(crate) mod kernels {
        unsafe extern "C" {
            safe fn fill(out: &mut [u32], value: u32);
            //~ pub(crate) safe fn fill(out: &mut [u32], value: u32);
        }
    }
}

fn launch(
    kernels: &physics::kernels::Module,
    stream: &CudaStream,
    out: &mut DeviceBuffer<u32>,
) -> Result<(), Error> {
    kernels.fill(stream, LaunchConfig::for_num_elems(8), out, 0)
}

fn main() {}
