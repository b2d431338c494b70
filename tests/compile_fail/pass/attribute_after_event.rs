use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, event: CudaEvent) -> Result<(), Error> {
    let attributes = vec![Attribute::programmatic_event(&event, true)];
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: attributes,
        }
    }
}
