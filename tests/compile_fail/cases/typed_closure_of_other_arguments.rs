// A closure that takes something else than the kernel gives it.

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
    k: u32,
    mut out: DeviceBuffer<u32>,
) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { kernels.apply(stream, config, move |i: f32| i as u32 + k, &mut out) }
    //~ unsafe { kernels.apply(stream, config, move |i: u32| i + k, &mut out) }
}

fn main() {}
