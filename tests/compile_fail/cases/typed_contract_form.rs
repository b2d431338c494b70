// What `#[launch_contract]` takes.

use cuda_launch::*;

// A launch contract over something else.
#[cuda_module("images/vectors.ptx")]
mod key {
    unsafe extern "C" {
        #[launch_contract(threads = 256)]
        //~ #[launch_contract(block = (256, 1, 1))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A launch contract whose conditions are in no parentheses.
#[cuda_module("images/vectors.ptx")]
mod requires_bare {
    unsafe extern "C" {
        #[launch_contract(requires = a.len() == c.len())]
        //~ #[launch_contract(requires = (a.len() == c.len()))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A launch contract with two blocks.
#[cuda_module("images/vectors.ptx")]
mod contract_twice {
    unsafe extern "C" {
        #[launch_contract(block = (256, 1, 1), block = (128, 1, 1))]
        //~ #[launch_contract(block = (256, 1, 1))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
