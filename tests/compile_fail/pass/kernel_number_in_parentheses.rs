use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: (format!("k{}", 7 * 6)),
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}
