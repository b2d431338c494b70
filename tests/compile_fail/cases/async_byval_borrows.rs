// What a launch that runs later borrows lives as long as the launch.

use cuda_launch::*;

// What a launch that runs later borrows lives as long as the launch.
mod borrowed_too_short {
    use super::*;
    use cuda_launch::operation::*;

    fn later(f: &CudaFunction) -> KernelLaunch<'static> {
    //~ fn later<'a>(f: &CudaFunction, data: &'a [u32; 2]) -> KernelLaunch<'a> {
        let data = [1u32, 2];
        //~
        let first = &data[0];
        // SAFETY: compiled, never run.
        unsafe {
            cuda_launch_async! { function: f, config: LaunchConfig::for_num_elems(100), args: [byval_borrowed(first)] }
        }
    }
}

// A closure that borrows the host, in a launch that runs later.
fn closure_that_borrows(launch: &mut AsyncKernelLaunch<'_>, data: &[u32; 4]) {
//~ fn closure_that_borrows<'a>(launch: &mut AsyncKernelLaunch<'a>, data: &'a [u32; 4]) {
    launch.byval(&|| data.iter().sum::<u32>());
    //~ launch.byval_borrowed(&|| data.iter().sum::<u32>()).byval(&|| 4u32);
}

fn main() {}
