// Device memory read on the host as if it were there, with nothing to wait for.

use cuda_launch::*;

fn first(buffer: &DeviceBuffer<f32>) -> f32 {
//~ fn first(buffer: &DeviceBuffer<f32>, stream: &CudaStream) -> Result<f32, Error> {
    buffer[0]
    //~ let mut first = [0.0];
    //+ buffer.slice(..1).copy_to_host(stream, &mut first)?;
    //+ Ok(first[0])
}

fn all(buffer: &DeviceBuffer<f32>) -> Result<Vec<f32>, Error> {
//~ fn all(buffer: &DeviceBuffer<f32>, stream: &CudaStream) -> Result<Vec<f32>, Error> {
    buffer.to_host_vec()
    //~ buffer.to_host_vec(stream)
}

fn main() {}
