// Types that no kernel takes.

use cuda_launch::*;

// A truth value.
#[cuda_module("images/numbers.ptx")]
mod a_bool {
    unsafe extern "C" {
        pub fn of_u8(out: *mut u32, value: bool);
        //~ pub fn of_u8(out: *mut u32, value: u8);
    }
}

// A character.
#[cuda_module("images/numbers.ptx")]
mod a_char {
    unsafe extern "C" {
        pub fn of_u32(out: *mut u32, value: char);
        //~ pub fn of_u32(out: *mut u32, value: u32);
    }
}

// A tuple, whose layout Rust chooses.
#[cuda_module("images/structs.ptx")]
mod tuple {
    unsafe extern "C" {
        pub fn turn(points: *mut f32, points_len: u64, quaternion: (f32, f32, f32, f32));
        //~ pub fn turn(points: *mut f32, points_len: u64, quaternion: [f32; 4]);
    }
}

// Nothing.
#[cuda_module("images/vectors.ptx")]
mod unit {
    unsafe extern "C" {
        pub fn fill(out: *mut u32, out_len: u64, value: u32, nothing: ());
        //~ pub fn fill(out: *mut u32, out_len: u64, value: u32);
    }
}

// An address that may be missing.
#[cuda_module("images/numbers.ptx")]
mod a_option {
    //+ use cuda_launch::DevicePtr;
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: Option<&f32>);
        //~ pub fn of_u64(out: *mut u32, value: DevicePtr<f32>);
    }
}

// Text of the host.
#[cuda_module("images/vectors.ptx")]
mod a_str {
    unsafe extern "C" {
        pub fn swap(x: &mut [u8], y: &str);
        //~ pub fn swap(x: &mut [u8], y: &[u8]);
    }
}

// Text of the host.
#[cuda_module("images/vectors.ptx")]
mod string {
    unsafe extern "C" {
        pub fn swap(x: &mut [u8], y: String);
        //~ pub fn swap(x: &mut [u8], y: &[u8]);
    }
}

// A trait object.
#[cuda_module("images/vectors.ptx")]
mod trait_object {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: &dyn Fn(u32));
        //~ pub fn swap(x: &mut [f32], y: &[f32]);
    }
}

// A function of the host.
#[cuda_module("images/numbers.ptx")]
mod fn_pointer {
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: fn(u32) -> u32);
        //~ pub fn of_u64(out: *mut u32, value: u64);
    }
}

// A reference to a value of the host.
#[cuda_module("images/numbers.ptx")]
mod reference {
    unsafe extern "C" {
        pub fn of_f32(out: *mut u32, value: &f32);
        //~ pub fn of_f32(out: *mut u32, value: f32);
    }
}

// A reference to a value of the host, to be written.
#[cuda_module("images/numbers.ptx")]
mod mut_reference {
    unsafe extern "C" {
        pub fn of_u64(out: &mut u32, value: u64);
        //~ pub fn of_u64(out: *mut u32, value: u64);
    }
}

// A reference to an array of the host.
#[cuda_module("images/vectors.ptx")]
mod array_reference {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: &mut [f32; 4]);
        //~ pub fn swap(x: &mut [f32], y: &mut [f32]);
    }
}

fn main() {}
