// Two things of one name.

use cuda_launch::*;

// A type with the name of one that the macro writes.
#[cuda_module("images/vectors.ptx")]
mod item_named_module {
    pub(super) struct Module {
    //~ pub(super) struct Shape {
        lanes: u32,
    }

    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

// A name that the module has already.
#[cuda_module("images/vectors.ptx")]
mod kernel_named_functions {
    unsafe extern "C" {
        #[entry("nothing")]
        pub safe fn functions();
        //~ pub safe fn nothing();
    }
}

// One name for two kernels.
#[cuda_module("images/vectors.ptx")]
mod kernel_twice {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
        #[entry("nothing")]
        pub safe fn fill();
        //~ pub safe fn nothing();
    }
}

// A kernel that is named like the method of another.
#[cuda_module("../../examples/kernels/vecadd.ptx")]
mod async_name_taken {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        #[entry("vecadd")]
        pub safe fn vecadd_async(a: &[f32], b: &[f32], c: &mut [f32]);
        //~ pub safe fn vecadd_later(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
