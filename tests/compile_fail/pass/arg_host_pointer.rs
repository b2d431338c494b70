use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let host = [1.0f32; 4];
    let buffer = DeviceBuffer::from_host(stream, &host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [buffer.as_device_ptr()],
        }
    }
}
