// The order of the parts of a tuple is not defined.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: (u32, u32),
}

fn main() {}
