// Which kernel it is, is said once.

use cuda_launch::*;

// The kernel is named in one way.
fn kernel_and_function(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            kernel: k,
            //~
        }
    }
}

// Also with a module.
fn kernel_module_and_function(module: &CudaModule, stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
//~ fn kernel_module_and_function(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            kernel: k,
            //~
            module: module,
            //~
        }
    }
}

// A function knows its module.
fn function_and_module(module: &CudaModule, stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
//~ fn function_and_module(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            module: module,
            //~
        }
    }
}

fn main() {}
