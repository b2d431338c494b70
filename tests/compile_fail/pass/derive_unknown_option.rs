use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
#[device_copy(crate = ::cuda_launch)]
struct Params {
    scale: f32,
}
