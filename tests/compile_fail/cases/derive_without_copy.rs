// The struct is `Copy` besides.

use cuda_launch::*;

// What is copied byte for byte is `Copy`.
#[repr(C)]
#[derive(DeviceCopy)]
//~ #[derive(Clone, Copy, DeviceCopy)]
struct Copy {
    scale: f32,
}

// Also with parameters.
#[repr(C)]
#[derive(Clone, DeviceCopy)]
//~ #[derive(Clone, Copy, DeviceCopy)]
struct CopyGeneric<T> {
    scale: T,
}

fn main() {}
