// Nor does alignment.

use cuda_launch::DeviceCopy;

#[repr(align(16))]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
}

fn main() {}
