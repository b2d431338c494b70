use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/bounds.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_bounds(128)]
        pub safe fn reduce(out: &mut [f32]);
    }
}
