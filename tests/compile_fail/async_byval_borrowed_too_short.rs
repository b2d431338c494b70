// What a launch that runs later borrows lives as long as the launch.

use cuda_launch::operation::*;
use cuda_launch::*;

fn later(f: &CudaFunction) -> KernelLaunch<'static> {
    let data = [1u32, 2];
    let first = &data[0];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch_async! { function: f, config: LaunchConfig::for_num_elems(100), args: [byval_borrowed(first)] }
    }
}

fn main() {}
