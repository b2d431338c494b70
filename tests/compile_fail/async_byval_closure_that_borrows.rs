// A closure that borrows the host, in a launch that runs later.

use cuda_launch::*;

fn push(launch: &mut AsyncKernelLaunch<'_>, data: &[u32; 4]) {
    launch.byval(&|| data.iter().sum::<u32>());
}

fn main() {}
