use cuda_launch::{DeviceCopy, DevicePtrMut};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: DevicePtrMut<f32>,
}
