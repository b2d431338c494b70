// A type that is only named through a parameter needs a bound of its own.

use cuda_launch::DeviceCopy;

trait Number: Copy {
    type Wide: Copy;
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params<T: Number> {
    value: T,
    sum: T::Wide,
}

fn main() {}
