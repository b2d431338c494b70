// Fields that the derive refuses by how they are written.

use cuda_launch::*;

// The device cannot call a function of the host.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct DeriveFieldFunction {
    scale: f32,
    field: fn(f32) -> f32,
    //~ field: u32,
}

// Also one to write through.
mod mut_pointer {
    use super::*;

    //~ use cuda_launch::{DeviceCopy, DevicePtrMut};

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        field: *mut f32,
        //~ field: DevicePtrMut<f32>,
    }
}

// A pointer is to host memory.
mod pointer {
    use super::*;

    //~ use cuda_launch::{DeviceCopy, DevicePtr};

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        field: *const f32,
        //~ field: DevicePtr<f32>,
    }
}

// A reference is to host memory.
mod reference {
    use super::*;

    //~ use cuda_launch::{DeviceCopy, DevicePtr};

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        field: &'static f32,
        //~ field: DevicePtr<f32>,
    }
}

// The order of the parts of a tuple is not defined.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Tuple {
    scale: f32,
    field: (u32, u32),
    //~ field: [u32; 2],
}

fn main() {}
