use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry("_Z6gatherPKfPf")]
        pub fn gather(from: *const f32, to: *mut f32);
    }
}
