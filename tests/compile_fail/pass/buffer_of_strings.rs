use cuda_launch::*;

fn upload(stream: &CudaStream, text: &[String]) -> Result<(), Error> {
    DeviceBuffer::from_host(stream, text.concat().as_bytes())?.close()
}
