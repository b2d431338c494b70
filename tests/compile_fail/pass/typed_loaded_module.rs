use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod vectors {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn launch(module: CudaModule) -> Result<vectors::Module, Error> {
    // SAFETY: compiled, never run.
    unsafe { vectors::from_module(module) }
}
