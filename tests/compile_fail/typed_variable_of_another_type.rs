// A variable is set to a value of another type.

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static levels: [f32; 4];
    }
}

fn launch(kernels: &kernels::Module, stream: &CudaStream) -> Result<(), Error> {
    kernels.set_levels(stream, [0u32; 4])
}

fn main() {}
