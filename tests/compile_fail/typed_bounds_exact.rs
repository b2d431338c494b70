// More threads than the kernel requires exactly.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/bounds.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_bounds(65)]
        pub safe fn exact(out: &mut [f32]);
    }
}

fn main() {}
