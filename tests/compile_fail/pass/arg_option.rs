use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, n: Option<u32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [n.unwrap_or(0)],
        }
    }
}
