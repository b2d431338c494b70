use cuda_launch::{DeviceCopy, DevicePtr};

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    name: DevicePtr<u8>,
    len: u64,
}
