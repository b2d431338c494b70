use cuda_launch::*;

#[cuda_module("tests/compile_fail/images/variables.ptx")]
mod kernels {
    unsafe extern "C" {
        pub static mut counter: u64;
    }
}

fn launch(kernels: &kernels::Module, stream: &CudaStream) -> Result<(), Error> {
    let mut counter = kernels.counter()?;
    counter.copy_from_host(stream, &[1])
}
