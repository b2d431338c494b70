// There is one option.

use cuda_launch::DeviceCopy;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
#[device_copy(rename = "p")]
//~ #[device_copy(crate = ::cuda_launch)]
struct Params {
    scale: f32,
}

fn main() {}
