// Also with parameters.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, DeviceCopy)]
struct Params<T> {
    scale: T,
}

fn main() {}
