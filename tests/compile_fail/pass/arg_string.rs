use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let text = String::from("text");
    let buffer = DeviceBuffer::from_host(stream, text.as_bytes())?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice(buffer)],
        }
    }
}
