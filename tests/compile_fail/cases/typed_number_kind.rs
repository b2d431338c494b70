// An integer for a floating-point number, or the reverse.

use cuda_launch::*;

// An integer for a float of the same size.
#[cuda_module("images/numbers.ptx")]
mod i32_for_f32 {
    unsafe extern "C" {
        pub fn of_f32(out: *mut u32, value: i32);
        //~ pub fn of_f32(out: *mut u32, value: f32);
    }
}

// A float for an integer of the same size.
#[cuda_module("images/numbers.ptx")]
mod f32_for_u32 {
    unsafe extern "C" {
        pub fn of_u32(out: *mut u32, value: f32);
        //~ pub fn of_u32(out: *mut u32, value: u32);
    }
}

// An integer for a double of the same size.
#[cuda_module("images/numbers.ptx")]
mod u64_for_f64 {
    unsafe extern "C" {
        pub fn of_f64(out: *mut u32, value: u64);
        //~ pub fn of_f64(out: *mut u32, value: f64);
    }
}

// An address for a double of the same size.
#[cuda_module("images/numbers.ptx")]
mod pointer_for_f64 {
    unsafe extern "C" {
        pub fn of_f64(out: *mut u32, value: *const f64);
        //~ pub fn of_f64(out: *mut u32, value: f64);
    }
}

fn main() {}
