// An address for a number, or the reverse.

use cuda_launch::*;

// A number of 32 bits for an address.
#[cuda_module("images/numbers.ptx")]
mod u32_for_pointer {
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: u32);
        //~ pub fn of_u64(out: *mut u32, value: *const u32);
    }
}

// An address for a number.
#[cuda_module("images/numbers.ptx")]
mod pointer_for_u32 {
    unsafe extern "C" {
        pub fn of_u32(out: *mut u32, value: *const u32);
        //~ pub fn of_u32(out: *mut u32, value: u32);
    }
}

// A slice, which is two parameters, where the kernel takes two numbers.
#[cuda_module("images/vectors.ptx")]
mod slice_for_numbers {
    unsafe extern "C" {
        pub fn axpy(a: &[f32], x: *const f32, y: *mut f32);
        //~ pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// A number where the kernel takes a slice.
#[cuda_module("images/vectors.ptx")]
mod numbers_for_slice {
    unsafe extern "C" {
        pub safe fn fill(first: f32, count: u64, value: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A slice, whose length has 64 bits, where the kernel counts in 32.
#[cuda_module("images/vectors.ptx")]
mod slice_with_short_length {
    unsafe extern "C" {
        pub fn fill_n(out: &mut [u32], value: u32);
        //~ pub fn fill_n(out: *mut u32, n: u32, value: u32);
    }
}

fn main() {}
