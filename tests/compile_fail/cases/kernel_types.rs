// `kernel` takes a name.

use cuda_launch::*;

// A name is text.
fn bytes(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: b"k",
            //~ kernel: "k",
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// A kernel has a name.
fn number(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: 3,
            //~ kernel: "3",
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// What was looked up is a `function`.
fn kernel_function(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let function = module.load_function("k")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: (function),
            //~
            module: module,
            //~ function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// An expression is a string.
fn number_in_parentheses(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: (7 * 6),
            //~ kernel: (format!("k{}", 7 * 6)),
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
