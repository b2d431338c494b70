use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn fill_n(out: *mut u32, n: u32, value: u32);
    }
}
