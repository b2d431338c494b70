// A host function runs later: what it borrows may be gone.

use cuda_launch::*;
//+ use std::sync::Arc;
//+ use std::sync::atomic::{AtomicU32, Ordering};

fn count(stream: &CudaStream) -> Result<u32, Error> {
    let mut count = 0;
    //~
    stream.call_host(|| count += 1)?;
    //~ let count = Arc::new(AtomicU32::new(0));
    //+ let inside = count.clone();
    //+ stream.call_host(move || {
    //+     inside.fetch_add(1, Ordering::Relaxed);
    //+ })?;
    stream.synchronize()?;
    Ok(count)
    //~ Ok(count.load(Ordering::Relaxed))
}

fn main() {}
