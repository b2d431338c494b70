use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    unsafe extern "C" {
        #[entry("nothing")]
        pub safe fn nothing();
    }
}
