// A `String` is host memory.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, DeviceCopy)]
struct Params {
    scale: f32,
    field: String,
}

fn main() {}
