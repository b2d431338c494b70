use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/structs.ptx")]
mod kernels {
    unsafe extern "C" {
        pub fn apply<F: Copy>(f: F, out: &mut [u32]);
    }
}
