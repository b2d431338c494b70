// What `#[launch_bounds]` takes.

use cuda_launch::*;

// Launch bounds without a number.
#[cuda_module("images/vectors.ptx")]
mod none {
    unsafe extern "C" {
        #[launch_bounds()]
        //~ #[launch_bounds(256)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Launch bounds with three numbers.
#[cuda_module("images/vectors.ptx")]
mod three {
    unsafe extern "C" {
        #[launch_bounds(256, 1, 1)]
        //~ #[launch_bounds(256, 1)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Launch bounds of no threads.
#[cuda_module("images/vectors.ptx")]
mod zero {
    unsafe extern "C" {
        #[launch_bounds(0)]
        //~ #[launch_bounds(256)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Two launch bounds.
#[cuda_module("images/vectors.ptx")]
mod bounds_twice {
    unsafe extern "C" {
        #[launch_bounds(256)]
        #[launch_bounds(128)]
        //~
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
