// A buffer holds plain data.

use cuda_launch::*;

// What a kernel writes need not be a `bool`.
fn buffer_of_bool(stream: &CudaStream) -> Result<Vec<bool>, Error> {
    DeviceBuffer::<bool>::zeroed(stream, 100)?.to_host_vec(stream)
    //~ let bytes = DeviceBuffer::<u8>::zeroed(stream, 100)?.to_host_vec(stream)?;
    //+ Ok(bytes.into_iter().map(|byte| byte != 0).collect())
}

// A buffer holds plain data.
fn strings(stream: &CudaStream, text: &[String]) -> Result<(), Error> {
    DeviceBuffer::from_host(stream, text)?.close()
    //~ DeviceBuffer::from_host(stream, text.concat().as_bytes())?.close()
}

fn main() {}
