use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/generic.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry(f32 = "_Z6gatherPKfPf")]
        pub fn gather<T>(from: *const T, to: *mut T);
    }
}
