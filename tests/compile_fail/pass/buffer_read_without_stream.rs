use cuda_launch::*;

fn first(buffer: &DeviceBuffer<f32>, stream: &CudaStream) -> Result<f32, Error> {
    let mut first = [0.0];
    buffer.slice(..1).copy_to_host(stream, &mut first)?;
    Ok(first[0])
}

fn all(buffer: &DeviceBuffer<f32>, stream: &CudaStream) -> Result<Vec<f32>, Error> {
    buffer.to_host_vec(stream)
}
