// What a kernel writes need not be a variant.

use cuda_launch::DeviceCopy;

#[repr(u32)]
#[derive(Clone, Copy, DeviceCopy)]
enum Mode {
    Slow,
    Fast,
}

fn main() {}
