// Rust orders the fields of a plain struct as it likes.

use cuda_launch::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
}

fn main() {}
