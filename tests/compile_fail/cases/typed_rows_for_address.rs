// Rows are no memory of one length: an address takes one of them, and a declaration with their pitch takes all.

use cuda_launch::memory::PitchedBuffer;
use cuda_launch::*;

#[cuda_module("images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_contract(requires = (out.len() >= n as usize))]
        pub safe fn fill_n(out: *mut u32, n: u32, value: u32);
    }
}

fn launch(kernels: &kernels::Module, stream: &CudaStream, config: LaunchConfig, mut image: PitchedBuffer<u32>) {
    let _ = kernels.fill_n(stream, config, &mut image, 8, 1);
    //~ let _ = image.row_mut(0).map(|mut row| kernels.fill_n(stream, config, &mut row, 8, 1));
}

fn main() {}
