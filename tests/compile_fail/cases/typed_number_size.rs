// A number of another size than the kernel takes.

use cuda_launch::*;

// Four bytes for eight.
#[cuda_module("images/numbers.ptx")]
mod u32_for_u64 {
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: u32);
        //~ pub fn of_u64(out: *mut u32, value: u64);
    }
}

// Four bytes for two.
#[cuda_module("images/numbers.ptx")]
mod i32_for_i16 {
    unsafe extern "C" {
        pub fn of_s16(out: *mut u32, value: i32);
        //~ pub fn of_s16(out: *mut u32, value: i16);
    }
}

// Eight bytes for four.
#[cuda_module("images/numbers.ptx")]
mod i64_for_i32 {
    unsafe extern "C" {
        pub fn of_s32(out: *mut u32, value: i64);
        //~ pub fn of_s32(out: *mut u32, value: i32);
    }
}

// A `float` for a `double`.
#[cuda_module("images/numbers.ptx")]
mod f32_for_f64 {
    unsafe extern "C" {
        pub fn of_f64(out: *mut u32, value: f32);
        //~ pub fn of_f64(out: *mut u32, value: f64);
    }
}

// A `double` for a `float`.
#[cuda_module("images/numbers.ptx")]
mod f64_for_f32 {
    unsafe extern "C" {
        pub fn of_f32(out: *mut u32, value: f64);
        //~ pub fn of_f32(out: *mut u32, value: f32);
    }
}

// Two bytes for one.
#[cuda_module("images/numbers.ptx")]
mod u16_for_u8 {
    unsafe extern "C" {
        pub fn of_u8(out: *mut u32, value: u16);
        //~ pub fn of_u8(out: *mut u32, value: u8);
    }
}

// Eight bytes where the image says only that there are four.
#[cuda_module("images/numbers.ptx")]
mod u64_for_b32 {
    unsafe extern "C" {
        pub fn of_b32(out: *mut u32, value: u64);
        //~ pub fn of_b32(out: *mut u32, value: f32);
    }
}

// One byte for four.
#[cuda_module("images/numbers.ptx")]
mod u8_for_u32 {
    unsafe extern "C" {
        pub fn of_u32(out: *mut u32, value: u8);
        //~ pub fn of_u32(out: *mut u32, value: u32);
    }
}

// A length of the host where the kernel counts in 32 bits.
#[cuda_module("images/numbers.ptx")]
mod usize_for_u32 {
    unsafe extern "C" {
        pub fn of_u32(out: *mut u32, value: usize);
        //~ pub fn of_u32(out: *mut u32, value: u32);
    }
}

// Sixteen bytes for eight.
#[cuda_module("images/numbers.ptx")]
mod wide_for_u64 {
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: u128);
        //~ pub fn of_u64(out: *mut u32, value: u64);
    }
}

// A number of another size than the kernel's.
#[cuda_module("../../examples/kernels/saxpy.ptx")]
mod size {
    unsafe extern "C" {
        pub fn saxpy(n: u64, alpha: f32, x: *const f32, y: *mut f32);
        //~ pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// Another size than in machine code, which tells no types.
#[cuda_module("../kernels/vecadd_sm90.cubin")]
mod cubin_size {
    unsafe extern "C" {
        pub fn vecadd(a: &[f32], b: &[f32], c: *mut f32, n: u32);
        //~ pub fn vecadd(a: &[f32], b: &[f32], c: *mut f32, n: u64);
    }
}

fn main() {}
