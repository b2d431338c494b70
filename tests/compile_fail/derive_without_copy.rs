// What is copied byte for byte is `Copy`.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(DeviceCopy)]
struct Params {
    scale: f32,
}

fn main() {}
