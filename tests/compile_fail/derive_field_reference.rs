// A reference is to host memory.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: &'static f32,
}

fn main() {}
