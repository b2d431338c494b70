use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, config: &LaunchConfig) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: *config,
            args: [],
        }
    }
}
