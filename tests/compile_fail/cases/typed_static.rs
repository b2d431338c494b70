// Variables of the image.

use cuda_launch::*;

// An attribute of kernels on a variable.
#[cuda_module("images/variables.ptx")]
mod attribute {
    unsafe extern "C" {
        #[launch_bounds(256)]
        //~ #[entry("limit")]
        pub static LIMIT: u32;
    }
}

// A variable of a type that is not plain.
#[cuda_module("images/variables.ptx")]
mod static_bool {
    unsafe extern "C" {
        pub static limit: [bool; 4];
        //~ pub static limit: [u8; 4];
    }
}

// A constant that is declared as a variable.
#[cuda_module("images/variables.ptx")]
mod constant {
    unsafe extern "C" {
        pub static mut limit: u32;
        //~ pub static limit: u32;
    }
}

// A variable that is declared as a constant.
#[cuda_module("images/variables.ptx")]
mod global {
    unsafe extern "C" {
        pub static counter: u64;
        //~ pub static mut counter: u64;
    }
}

// A variable that is an address of the host.
#[cuda_module("images/variables.ptx")]
mod pointer {
    unsafe extern "C" {
        pub static mut counter: &u64;
        //~ pub static mut counter: u64;
    }
}

fn main() {}
