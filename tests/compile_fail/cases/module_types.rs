// `module` takes a loaded module.

use cuda_launch::*;

// Not a function.
fn module_function(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let function = module.load_function("k")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            //~
            module: function,
            //~ function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// `module` takes a loaded module.
fn path(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let _ = module;
    //+ let loaded = load_kernel_module(stream.context(), "vecadd")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: "vecadd.ptx",
            //~ module: loaded,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
