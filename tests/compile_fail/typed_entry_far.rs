// A kernel that the image does not have, near to none.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/bounds.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn matmul(out: &mut [f32]);
    }
}

fn main() {}
