// A closure that captures a vector of the host. Its type is long, so that the answer has one form whatever the name of this folder.

use cuda_launch::*;

#[cuda_module("images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn apply<F: Fn(u32) -> u32>(f: F, out: &mut [u32]);
    }
}

fn launch(
    kernels: &kernels::Module,
    stream: &CudaStream,
    config: LaunchConfig,
    table: Vec<Vec<Vec<Vec<Vec<u32>>>>>,
    //~ k: u32,
    mut out: DeviceBuffer<u32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { kernels.apply(stream, config, move |_| table.len() as u32, &mut out) }
    //~ unsafe { kernels.apply(stream, config, move |i| i + k, &mut out) }
}

fn main() {}
