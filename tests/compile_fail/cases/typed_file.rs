// Files that cannot be read, or hold something else.

use cuda_launch::*;

// A file that is not there.
#[cuda_module("images/vector.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod file_missing {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// An image that is not there.
#[cuda_module("../../examples/kernels/vec_add.ptx")]
//~ #[cuda_module("../../examples/kernels/vecadd.ptx")]
mod missing_file {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A cubin whose end is missing.
#[cuda_module("images/damaged.cubin")]
//~ #[cuda_module("../kernels/vecadd_sm90.cubin")]
mod file_damaged_cubin {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// PTX that is damaged.
#[cuda_module("images/damaged.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod file_damaged_ptx {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A file that is no image.
#[cuda_module("images/notes.txt")]
//~ #[cuda_module("images/vectors.ptx")]
mod file_text {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// One file twice.
#[cuda_module("images/vectors.ptx", "images/vectors.ptx")]
//~ #[cuda_module("images/vectors.ptx")]
mod file_twice {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A file in a variable that is not set.
#[cuda_module(concat!(env!("KERNELS_THAT_NOBODY_SET"), "/images/vectors.ptx"))]
//~ #[cuda_module(concat!(env!("CARGO_MANIFEST_DIR"), "/images/vectors.ptx"))]
mod file_variable {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A source with nothing in it.
#[cuda_module("images/empty.cu")]
//~ #[cuda_module("../../examples/kernels/vecadd.cu")]
mod source_empty {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A file with the ending of LTO IR and other contents.
#[cuda_module("images/damaged.ltoir")]
//~ #[cuda_module("../kernels/vecadd.ltoir")]
mod source_not_lto_ir {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
