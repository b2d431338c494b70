// The block of kernels.

use cuda_launch::*;

// An `extern` block that is not `unsafe`.
#[cuda_module("images/vectors.ptx")]
mod block_not_unsafe {
    extern "C" {
    //~ unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// An `extern` block of another calling convention.
#[cuda_module("images/vectors.ptx")]
mod block_other_abi {
    unsafe extern "ptx-kernel" {
    //~ unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A type in the `extern` block.
#[cuda_module("images/vectors.ptx")]
mod block_type {
    unsafe extern "C" {
        pub type Stream;
        //~
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A module without an `extern` block.
#[cuda_module("images/vectors.ptx")]
mod no_block {
    pub const BLOCK: u32 = 256;
    //~ unsafe extern "C" {
    //+     pub safe fn fill(out: &mut [u32], value: u32);
    //+ }
}

// Two `extern` blocks.
#[cuda_module("images/vectors.ptx")]
mod two_blocks {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
    //~

    unsafe extern "C" {
    //~
        pub safe fn nothing();
    }
}

// A kernel outside of the `extern` block.
#[cuda_module("images/vectors.ptx")]
mod kernel_outside {
    pub safe fn fill(out: &mut [u32], value: u32);
    //~

    unsafe extern "C" {
        //+ pub safe fn fill(out: &mut [u32], value: u32);
        pub safe fn nothing();
    }
}

fn main() {}
