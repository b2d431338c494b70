// Types of what a contract compares.

use cuda_launch::*;

// A launch contract whose block has one dimension.
#[cuda_module("images/vectors.ptx")]
mod block_number {
    unsafe extern "C" {
        #[launch_contract(block = 256)]
        //~ #[launch_contract(block = (256, 1, 1))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A launch contract whose condition is a number.
#[cuda_module("images/vectors.ptx")]
mod not_bool {
    unsafe extern "C" {
        #[launch_contract(requires = (a.len()))]
        //~ #[launch_contract(requires = (a.len() > 0))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A launch contract with shared memory in words.
#[cuda_module("images/vectors.ptx")]
mod shared_text {
    unsafe extern "C" {
        #[launch_contract(dynamic_shared = "48K")]
        //~ #[launch_contract(dynamic_shared = 49152)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
