// What a kernel writes need not be a `bool`.

use cuda_launch::*;

fn flags(stream: &CudaStream) -> Result<Vec<bool>, Error> {
    DeviceBuffer::<bool>::zeroed(stream, 100)?.to_host_vec(stream)
}

fn main() {}
