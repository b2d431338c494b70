// An array whose elements are aligned to 4 where the kernel has 16, as of a `float4`.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub(super) safe fn turn_fast(points: &mut [f32], quaternion: [f32; 4]);
    }
}

fn main() {}
