// The attribute takes the name of a file.

use cuda_launch::*;

// The bytes of a file for its name.
#[cuda_module(include_bytes!("images/vectors.ptx"))]
//~ #[cuda_module("images/vectors.ptx")]
mod file_include {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// No file.
#[cuda_module]
//~ #[cuda_module("images/vectors.ptx")]
mod file_none {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A number for a file.
#[cuda_module(90)]
//~ #[cuda_module("images/vectors.ptx")]
mod file_number {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// An option that there is not.
#[cuda_module("images/vectors.ptx", arch = "sm_90")]
//~ #[cuda_module("images/vectors.ptx")]
mod option_unknown {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
