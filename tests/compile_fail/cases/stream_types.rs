// `stream` takes a stream.

use cuda_launch::*;

// Not a context.
fn context(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream.context(),
            //~ stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// `stream` takes a stream.
fn integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let _ = stream;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: 0,
            //~ stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// Not an `Option`.
fn stream_option(module: &CudaModule, stream: &CudaStream, chosen: Option<&CudaStream>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: chosen,
            //~ stream: chosen.unwrap_or(stream),
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
