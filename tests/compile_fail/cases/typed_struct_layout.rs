// Structs of another layout than the kernel has.

use cuda_launch::*;

// A struct of another layout than the kernel's.
#[cuda_module("../../examples/kernels/mix.ptx")]
mod a_struct {
    #[repr(C)]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct Params {
        scale: f32,
        bias: f32,
        //~ bias: f64,
        tag: u16,
        idx: [i32; 4],
    }

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}

// A struct of the same size that is aligned otherwise.
#[cuda_module("../../examples/kernels/mix.ptx")]
mod struct_alignment {
    pub type Params = [u32; 10];
    //~ pub(super) type Params = [u64; 5];

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}

// A struct of the same size, whose fields are aligned to 4 where the kernel has 8.
#[cuda_module("images/structs.ptx")]
mod struct_fields_smaller {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: [f32; 2],
        //~ x: [f64; 1],
        y: [f32; 2],
        //~ y: [f64; 1],
        z: [f32; 2],
        //~ z: [f64; 1],
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}

// A struct with a field too many.
#[cuda_module("images/structs.ptx")]
mod struct_larger {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f64,
        y: f64,
        z: f64,
        w: f64,
        //~
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}

// A packed struct for one that is not.
#[cuda_module("images/structs.ptx")]
mod struct_packed {
    use cuda_launch::DeviceCopy;

    #[repr(C, packed)]
    //~ #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f64,
        y: f64,
        z: f64,
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}

// A struct with a field too few.
#[cuda_module("images/structs.ptx")]
mod struct_size {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f64,
        y: f64,
        //+ z: f64,
    }

    unsafe extern "C" {
        pub(super) fn move_all(points: *mut f32, points_len: u64, step: Step);
    }
}

fn main() {}
