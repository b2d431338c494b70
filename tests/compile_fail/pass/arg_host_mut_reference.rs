use cuda_launch::*;

fn launch(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let mut buffer = DeviceBuffer::<f32>::zeroed(stream, 1)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [buffer.as_mut_device_ptr()],
        }
    }
}
