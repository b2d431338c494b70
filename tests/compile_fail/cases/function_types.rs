// `function` takes a loaded function.

use cuda_launch::*;

// Not a module.
fn module(stream: &CudaStream, module: &CudaModule) -> Result<(), Error> {
//~ fn module(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: module,
            //~ function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// `function` takes a function that was looked up.
fn name(stream: &CudaStream) -> Result<(), Error> {
//~ fn name(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: "k",
            //~ function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// Not a function of the host.
fn rust(stream: &CudaStream, kernel: fn(u32)) -> Result<(), Error> {
//~ fn rust(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: kernel,
            //~ function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
