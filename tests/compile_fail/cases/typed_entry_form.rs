// What `#[entry]` takes.

use cuda_launch::*;

// No name in `#[entry]`.
#[cuda_module("images/vectors.ptx")]
mod empty {
    unsafe extern "C" {
        #[entry()]
        //~ #[entry("vecadd")]
        pub safe fn add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A number for a name.
#[cuda_module("images/vectors.ptx")]
mod number {
    unsafe extern "C" {
        #[entry(1)]
        //~ #[entry("vecadd")]
        pub safe fn add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Two names for one kernel.
#[cuda_module("images/vectors.ptx")]
mod entry_twice {
    unsafe extern "C" {
        #[entry("vecadd")]
        #[entry("axpy")]
        //~
        pub safe fn add(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
