use cuda_launch::*;

fn push<'a>(launch: &mut AsyncKernelLaunch<'a>, data: &'a [u32; 4]) {
    launch.byval_borrowed(&|| data.iter().sum::<u32>()).byval(&|| 4u32);
}

fn main() {}
