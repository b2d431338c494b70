// Arguments are separated by one comma each.

use cuda_launch::*;

// Arguments are separated by commas.
fn missing_comma(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [1u32 2u32],
            //~ args: [1u32, 2u32],
        }
    }
}

// And by nothing else.
fn semicolon(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [1u32; 2u32],
            //~ args: [1u32, 2u32],
        }
    }
}

// One comma.
fn two_commas(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [1u32,, 2u32],
            //~ args: [1u32, 2u32],
        }
    }
}

fn main() {}
