// Another number of parameters than the kernel has.

use cuda_launch::*;

// A parameter is left out.
#[cuda_module("images/vectors.ptx")]
mod too_few {
    unsafe extern "C" {
        pub fn axpy(n: u32, alpha: f32, x: *const f32);
        //~ pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// A parameter that the kernel does not have.
#[cuda_module("images/vectors.ptx")]
mod too_many {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32], n: u32);
        //~ pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A slice is two parameters, and this kernel takes addresses.
#[cuda_module("../../examples/kernels/saxpy.ptx")]
mod count {
    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: f32, x: &[f32], y: &mut [f32]);
        //~ pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// No parameters at all.
#[cuda_module("images/vectors.ptx")]
mod no_parameters {
    unsafe extern "C" {
        pub safe fn fill();
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// Parameters of a kernel that has none.
#[cuda_module("images/vectors.ptx")]
mod parameters_of_none {
    unsafe extern "C" {
        pub safe fn nothing(n: u32);
        //~ pub safe fn nothing();
    }
}

// The length of a slice is left out.
#[cuda_module("images/vectors.ptx")]
mod pointer_for_slice {
    unsafe extern "C" {
        pub fn fill(out: *mut u32, value: u32);
        //~ pub fn fill(out: *mut u32, out_len: u64, value: u32);
    }
}

fn main() {}
