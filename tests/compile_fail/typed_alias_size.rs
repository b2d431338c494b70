// An alias of a type of another size: only the compiler knows it.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    type Count = u64;

    unsafe extern "C" {
        pub fn axpy(n: Count, alpha: f32, x: *const f32, y: *mut f32);
    }
}

fn main() {}
