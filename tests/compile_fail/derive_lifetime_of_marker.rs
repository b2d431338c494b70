// Also where nothing is borrowed yet.

use cuda_launch::DeviceCopy;

use std::marker::PhantomData;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params<'a> {
    scale: f32,
    of: PhantomData<&'a f32>,
}

fn main() {}
