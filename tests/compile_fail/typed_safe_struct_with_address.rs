// A structure in a structure with an address in it.

use cuda_launch::*;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Table<T> {
    rows: [T; 1],
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Outer {
    table: Table<DevicePtr<f32>>,
    len: [u64; 2],
}

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    use super::Outer;

    unsafe extern "C" {
        pub safe fn move_all(points: &mut [f32], table: Outer);
    }
}

fn main() {}
