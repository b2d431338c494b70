use cuda_launch::{DeviceCopy, DevicePtrMut};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    name: [u8; 8],
    range: [u32; 2],
    next: DevicePtrMut<f32>,
}
