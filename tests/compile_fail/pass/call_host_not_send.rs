use cuda_launch::*;
use std::sync::Arc;

fn drop_there(stream: &CudaStream, data: Arc<u32>) -> Result<(), Error> {
    stream.call_host(move || drop(data))
}
