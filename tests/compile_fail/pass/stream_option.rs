use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, chosen: Option<&CudaStream>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: chosen.unwrap_or(stream),
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}
