use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry("limit")]
        pub static LIMIT: u32;
    }
}
