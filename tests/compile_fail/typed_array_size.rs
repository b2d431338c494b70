// An array of another length.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn turn(points: &mut [f32], quaternion: [f32; 3]);
    }
}

fn main() {}
