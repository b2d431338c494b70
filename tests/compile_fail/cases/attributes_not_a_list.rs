// `attributes` takes a list of attributes.

use cuda_launch::*;

// `attributes` takes a list.
fn one(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: Attribute::priority(-1),
            //~ attributes: [Attribute::priority(-1)],
        }
    }
}

// An attribute is made by a call.
fn attributes_function(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: [Attribute::priority],
            //~ attributes: [Attribute::priority(0)],
        }
    }
}

// Of attributes.
fn of_bool(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: [true],
            //~ attributes: [Attribute::cooperative(true)],
        }
    }
}

fn main() {}
