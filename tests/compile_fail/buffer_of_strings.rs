// A buffer holds plain data.

use cuda_launch::*;

fn upload(stream: &CudaStream, text: &[String]) -> Result<(), Error> {
    DeviceBuffer::from_host(stream, text)?.close()
}

fn main() {}
