// Fields without a name are numbered.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Pair(f32, bool);

fn main() {}
