// A launch is a list of `field: value`.

use cuda_launch::*;

// A launch is not a function call.
fn args_positional(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            k, module, stream, LaunchConfig::for_num_elems(100), []
            //~ kernel: k,
            //+ module: module,
            //+ stream: stream,
            //+ config: LaunchConfig::for_num_elems(100),
            //+ args: [],
        }
    }
}

// A field names its value.
fn field_shorthand(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream,
            //~ stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// A field has a value after a colon.
fn missing_colon(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream = stream,
            //~ stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
