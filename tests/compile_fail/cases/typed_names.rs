// Names that are not in scope.

use cuda_launch::*;

// A launch contract over a parameter that the kernel does not have.
#[cuda_module("images/vectors.ptx")]
mod contract_parameter {
    unsafe extern "C" {
        #[launch_contract(requires = (a.len() == d.len()))]
        //~ #[launch_contract(requires = (a.len() == c.len()))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A type that is not in scope in the module.
#[cuda_module("images/numbers.ptx")]
mod type_unknown {
    unsafe extern "C" {
        pub fn of_u64(out: *mut u32, value: Handle);
        //~ pub fn of_u64(out: *mut u32, value: u64);
    }
}

fn main() {}
