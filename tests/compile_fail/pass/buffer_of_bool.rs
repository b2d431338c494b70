use cuda_launch::*;

fn flags(stream: &CudaStream) -> Result<Vec<bool>, Error> {
    let bytes = DeviceBuffer::<u8>::zeroed(stream, 100)?.to_host_vec(stream)?;
    Ok(bytes.into_iter().map(|byte| byte != 0).collect())
}
