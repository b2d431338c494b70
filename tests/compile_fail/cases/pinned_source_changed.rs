// Host memory changed while a copy out of it may still run.

use cuda_launch::*;
use cuda_launch::memory::RegisterFlags;

fn send(stream: &CudaStream, buffer: &mut DeviceBuffer<u32>) -> Result<(), Error> {
    let mut host = [1u32; 4];
    stream.context().with_registered(&mut host, RegisterFlags::empty(), |pinned| {
        buffer.view_mut().copy_from_pinned(stream, pinned.as_view())?;
        host[0] = 2;
        //~
        Ok(())
    })
    //~ })?;
    //+ host[0] = 2;
    //+ println!("{host:?}");
    //+ Ok(())
}

fn main() {}
