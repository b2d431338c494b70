use cuda_launch::DeviceCopy;

#[repr(C, packed)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    tag: u8,
    scale: f64,
}
