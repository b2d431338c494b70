use cuda_launch::{DeviceCopy, DevicePtr};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    field: DevicePtr<f32>,
}
