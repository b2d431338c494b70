// All that is wrong is said at once.

use cuda_launch::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
struct Params<'a> {
    name: &'a str,
    range: (u32, u32),
    next: *mut f32,
}

fn main() {}
