// Variables of another size.

use cuda_launch::*;

// A variable of another size.
#[cuda_module("images/variables.ptx")]
mod size {
    unsafe extern "C" {
        pub static levels: [f32; 8];
        //~ pub static levels: [f32; 4];
    }
}

// A variable of another size.
#[cuda_module("images/variables.ptx")]
mod number_size {
    unsafe extern "C" {
        pub static limit: u64;
        //~ pub static limit: u32;
    }
}

fn main() {}
