// What the kernel does with these arguments, no contract can promise.

use cuda_launch::*;

// A safe kernel that calls whatever its caller passes.
#[cuda_module("images/structs.ptx")]
mod closure {
    unsafe extern "C" {
        pub safe fn apply<F: Copy>(f: F, out: &mut [u32]);
        //~ pub fn apply<F: Copy>(f: F, out: &mut [u32]);
    }
}

// A safe kernel that writes to an address of whose length nothing is known.
#[cuda_module("images/numbers.ptx")]
mod pointer {
    unsafe extern "C" {
        //+ #[launch_contract(requires = (!out.is_empty()))]
        pub safe fn of_u64(out: *mut u32, value: u64);
    }
}

// The contract knows the length of one address, and not of the other.
#[cuda_module("images/vectors.ptx")]
mod pointer_of_two {
    unsafe extern "C" {
        #[launch_contract(requires = (y.len() >= n as usize))]
        //~ #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
        pub safe fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
