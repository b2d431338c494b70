use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
        pub safe fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}
