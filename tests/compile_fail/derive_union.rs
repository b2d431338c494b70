// Which field a kernel wrote is not known.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
union Bits {
    float: f32,
    int: u32,
}

fn main() {}
