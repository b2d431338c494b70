// A module as the driver knows it, where a typed one is asked for.

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod vectors {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32], value: u32);
    }
}

fn launch(module: CudaModule) -> Result<vectors::Module, Error> {
    vectors::from_module(module)
}

fn main() {}
