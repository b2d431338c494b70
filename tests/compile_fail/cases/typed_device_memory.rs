// Device memory is declared as a slice or an address.

use cuda_launch::*;

// A box of the host.
#[cuda_module("images/vectors.ptx")]
mod boxed {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: Box<[f32]>);
        //~ pub fn swap(x: &mut [f32], y: &[f32]);
    }
}

// A reference to a buffer: the slice stands for it.
#[cuda_module("images/vectors.ptx")]
mod buffer {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: &cuda_launch::DeviceBuffer<f32>);
        //~ pub fn swap(x: &mut [f32], y: &[f32]);
    }
}

// A buffer: the slice stands for it.
#[cuda_module("images/vectors.ptx")]
mod buffer_by_value {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: cuda_launch::DeviceBuffer<f32>);
        //~ pub fn swap(x: &mut [f32], y: &[f32]);
    }
}

// A vector of the host.
#[cuda_module("images/vectors.ptx")]
mod vec {
    unsafe extern "C" {
        pub fn swap(x: &mut [f32], y: Vec<f32>);
        //~ pub fn swap(x: &mut [f32], y: &[f32]);
    }
}

// A slice without a reference.
#[cuda_module("images/vectors.ptx")]
mod slice_alone {
    unsafe extern "C" {
        pub safe fn fill(out: [u32], value: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A pointer to a slice.
#[cuda_module("images/vectors.ptx")]
mod pointer_to_slice {
    unsafe extern "C" {
        pub fn fill(out: *mut [u32], value: u32);
        //~ pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn main() {}
