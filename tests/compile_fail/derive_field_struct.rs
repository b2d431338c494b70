// A struct inside derives it too.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy)]
struct Inner {
    tag: u8,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: Inner,
}

fn main() {}
