// Names that the image does not have.

use cuda_launch::*;

// A kernel that the image does not have, one letter from one that it has.
#[cuda_module("images/vectors.ptx")]
mod entry {
    unsafe extern "C" {
        pub fn apxy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        //~ pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// The name in the image is wrong; the error is at the literal.
#[cuda_module("images/vectors.ptx")]
mod entry_attribute {
    unsafe extern "C" {
        #[entry("vecsub")]
        //~ #[entry("vecadd")]
        pub safe fn add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A kernel that the image does not have, near to none.
#[cuda_module("images/bounds.ptx")]
mod entry_far {
    unsafe extern "C" {
        pub safe fn matmul(out: &mut [f32]);
        //~ pub safe fn reduce(out: &mut [f32]);
    }
}

// A kernel whose name was mangled.
#[cuda_module("images/generic.ptx")]
mod entry_mangled {
    unsafe extern "C" {
        //+ #[entry("_Z6gatherPKfPf")]
        pub fn gather(from: *const f32, to: *mut f32);
    }
}

// A kernel that the image does not have.
#[cuda_module("../../examples/kernels/vecadd.ptx")]
mod missing_kernel {
    unsafe extern "C" {
        pub safe fn vec_add(a: &[f32], b: &[f32], c: &mut [f32]);
        //~ pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// The entry for one of the types is not in the image.
#[cuda_module("images/generic.ptx")]
mod generic_entry_unknown {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f64 = "scale_double")]
        //~ #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

// A variable that the image does not have, near to none.
#[cuda_module("images/variables.ptx")]
mod static_far {
    unsafe extern "C" {
        pub static gravitation: u32;
        //~ pub static limit: u32;
    }
}

// A variable that the image does not have.
#[cuda_module("images/variables.ptx")]
mod static_missing {
    unsafe extern "C" {
        pub static level: [f32; 4];
        //~ pub static levels: [f32; 4];
    }
}

// A kernel that one of the images does not have.
#[cuda_module("images/vectors.ptx", "images/newer.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod image_without_it {
    unsafe extern "C" {
        pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
