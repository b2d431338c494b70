// `args` is a list in brackets.

use cuda_launch::*;

// `args` is a list in brackets.
fn not_a_list(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: 3u32,
            //~ args: [3u32],
        }
    }
}

// Not a variable.
fn a_variable(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let args = [1u32, 2];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: args,
            //~ args: [args],
        }
    }
}

// Not a `Vec`.
fn a_vec(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: vec![1u32],
            //~ args: [1u32],
        }
    }
}

// Not in parentheses.
fn in_parentheses(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: (1u32, 2u32),
            //~ args: [1u32, 2u32],
        }
    }
}

fn main() {}
