// Nor other than zero.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: std::num::NonZeroU32,
}

fn main() {}
