// A host function runs on another thread.

use cuda_launch::*;
use std::rc::Rc;
//~ use std::sync::Arc;

fn drop_there(stream: &CudaStream, data: Rc<u32>) -> Result<(), Error> {
//~ fn drop_there(stream: &CudaStream, data: Arc<u32>) -> Result<(), Error> {
    stream.call_host(move || drop(data))
}

fn main() {}
