use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream, host: &mut [f32]) -> Result<(), Error> {
    let mut buffer = DeviceBuffer::from_host(stream, host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(buffer)],
        }
    }
}
