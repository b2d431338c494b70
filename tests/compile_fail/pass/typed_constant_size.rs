use cuda_launch::cuda_module;

const LANES: usize = 4;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    use super::LANES;

    unsafe extern "C" {
        pub safe fn turn(points: &mut [f32], quaternion: [f32; LANES]);
    }
}
