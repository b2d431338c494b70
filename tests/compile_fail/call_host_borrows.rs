// A host function runs later: what it borrows may be gone.

use cuda_launch::*;

fn count(stream: &CudaStream) -> Result<u32, Error> {
    let mut count = 0;
    stream.call_host(|| count += 1)?;
    stream.synchronize()?;
    Ok(count)
}

fn main() {}
