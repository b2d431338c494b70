// A tuple, whose layout Rust chooses.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn turn(points: *mut f32, points_len: u64, quaternion: (f32, f32, f32, f32));
    }
}

fn main() {}
