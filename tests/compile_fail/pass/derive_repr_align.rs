use cuda_launch::DeviceCopy;

#[repr(C, align(16))]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
}
