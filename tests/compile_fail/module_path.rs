// `module` takes a loaded module.

use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let _ = module;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: "vecadd.ptx",
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
