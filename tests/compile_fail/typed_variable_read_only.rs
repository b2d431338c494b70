// A constant is written by way of its handle while it is only shared.

use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static mut counter: u64;
    }
}

fn launch(kernels: &kernels::Module, stream: &CudaStream) -> Result<(), Error> {
    let counter = kernels.counter()?;
    counter.copy_from_host(stream, &[1])
}

fn main() {}
