// Packing does not fix the order.

use cuda_launch::DeviceCopy;

#[repr(packed)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    tag: u8,
    scale: f64,
}

fn main() {}
