// All that is wrong is said at once.

use cuda_launch::DeviceCopy;
//~ use cuda_launch::{DeviceCopy, DevicePtrMut};
//+ #[repr(C)]

#[derive(Clone, Copy, DeviceCopy)]
struct Params<'a> {
//~ struct Params {
    name: &'a str,
    //~ name: [u8; 8],
    range: (u32, u32),
    //~ range: [u32; 2],
    next: *mut f32,
    //~ next: DevicePtrMut<f32>,
}

fn main() {}
