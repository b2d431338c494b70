use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let _ = module;
    let loaded = load_kernel_module(stream.context(), "vecadd")?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: loaded,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}
