// The contract knows the length of one address, and not of the other.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_contract(requires = (y.len() >= n as usize))]
        pub safe fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
