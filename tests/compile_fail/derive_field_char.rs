// Nor a `char`.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: char,
}

fn main() {}
