// A closure that borrows the host is 8 bytes too, and the device cannot follow them.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, data: &[u32; 4]) -> Result<(), Error> {
    let scale = 3u32;
    let sum = || data.iter().sum::<u32>() * scale;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [byval(sum)],
        }
    }
}

fn main() {}
