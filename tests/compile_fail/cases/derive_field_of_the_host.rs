// A field that owns memory of the host.

use cuda_launch::*;

// A `String` is host memory.
#[repr(C)]
#[derive(Clone, DeviceCopy)]
//~ #[derive(Clone, Copy, DeviceCopy)]
struct WithText {
    scale: f32,
    field: String,
    //~ field: [u8; 16],
}

// A `Vec` is host memory.
#[repr(C)]
#[derive(Clone, DeviceCopy)]
//~ #[derive(Clone, Copy, DeviceCopy)]
struct WithElements {
    scale: f32,
    field: Vec<f32>,
    //~ field: [f32; 4],
}

fn main() {}
