// One type for a kernel with two type parameters.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "_Z6gatherPKfPf")]
        pub fn gather<A, B>(from: *const A, to: *mut B);
    }
}

fn main() {}
