// What is borrowed is in host memory.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params<'a> {
    name: &'a [u8],
}

fn main() {}
