use cuda_launch::operation::*;
use cuda_launch::*;

fn later<'a>(f: &CudaFunction, data: &'a [u32; 2]) -> KernelLaunch<'a> {
    let first = &data[0];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch_async! { function: f, config: LaunchConfig::for_num_elems(100), args: [byval_borrowed(first)] }
    }
}

fn main() {}
