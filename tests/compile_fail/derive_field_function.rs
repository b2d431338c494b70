// The device cannot call a function of the host.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: fn(f32) -> f32,
}

fn main() {}
