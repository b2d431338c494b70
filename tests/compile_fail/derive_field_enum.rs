// Nor a variant.

use cuda_launch::DeviceCopy;

#[derive(Clone, Copy)]
enum Mode {
    Fast,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: Mode,
}

fn main() {}
