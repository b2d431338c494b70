// Signatures that no kernel has.

use cuda_launch::*;

// A `self`.
#[cuda_module("images/vectors.ptx")]
mod receiver {
    unsafe extern "C" {
        pub safe fn fill(&self, out: &mut [u32], value: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A result.
#[cuda_module("images/vectors.ptx")]
mod returns {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32) -> u32;
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A parameter without a name.
#[cuda_module("images/vectors.ptx")]
mod pattern {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], _: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// Any number of parameters.
#[cuda_module("images/vectors.ptx")]
mod variadic {
    unsafe extern "C" {
        pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32, ...);
        //~ pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// A lifetime.
#[cuda_module("images/vectors.ptx")]
mod lifetime {
    unsafe extern "C" {
        pub safe fn fill<'a>(out: &'a mut [u32], value: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A closure without a name for its type.
#[cuda_module("images/structs.ptx")]
mod impl_fn {
    unsafe extern "C" {
        pub fn apply(f: impl Fn(u32), out: &mut [u32]);
        //~ pub fn apply<F: Copy>(f: F, out: &mut [u32]);
    }
}

fn main() {}
