use cuda_launch::DeviceCopy;

#[repr(transparent)]
#[derive(Clone, Copy, DeviceCopy)]
struct Bits(u32);

impl Bits {
    fn float(self) -> f32 {
        f32::from_bits(self.0)
    }
}
