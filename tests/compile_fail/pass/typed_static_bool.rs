use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static limit: [u8; 4];
    }
}
