// What a kernel writes need not be a `bool`.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: bool,
}

fn main() {}
