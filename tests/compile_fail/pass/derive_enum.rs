use cuda_launch::DeviceCopy;

#[repr(transparent)]
#[derive(Clone, Copy, DeviceCopy)]
struct Mode(u32);

impl Mode {
    const SLOW: Self = Self(0);
    const FAST: Self = Self(1);
}
