// A parameter stands for plain data.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params<T> {
    value: T,
}

fn is_plain<T: DeviceCopy>() {}

fn check() {
    is_plain::<Params<char>>();
    //~ is_plain::<Params<u32>>();
}

fn main() {}
