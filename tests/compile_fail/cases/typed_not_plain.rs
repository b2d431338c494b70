// Types that are not plain device data.

use cuda_launch::*;

// A slice of a struct that is not `DeviceCopy`.
mod element_not_plain {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, DeviceCopy)]
    struct Point {
        x: f32,
        y: f32,
    }

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        use super::Point;

        unsafe extern "C" {
            pub(super) safe fn swap(x: &mut [Point], y: &mut [Point]);
        }
    }
}

// The address of a struct that is not `DeviceCopy`.
mod pointer_to_not_plain {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, DeviceCopy)]
    struct Point {
        x: f32,
        y: f32,
    }

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        use super::Point;

        unsafe extern "C" {
            pub(super) fn axpy(n: u32, alpha: f32, x: *const Point, y: *mut f32);
        }
    }
}

// A struct by value that is not `DeviceCopy`.
mod struct_not_plain {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, DeviceCopy)]
    struct Step {
        x: f64,
        y: f64,
        z: f64,
    }

    #[cuda_module("images/structs.ptx")]
    mod kernels {
        use super::Step;

        unsafe extern "C" {
            pub(super) safe fn move_all(points: &mut [f32], step: Step);
        }
    }
}

// A struct that is no plain data.
#[cuda_module("../../examples/kernels/mix.ptx")]
mod struct_without_derive {
    #[repr(C)]
    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct Params {
        scale: f32,
        bias: f64,
        tag: u16,
        idx: [i32; 4],
    }

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
    }
}

fn main() {}
