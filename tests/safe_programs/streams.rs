//! Steps with streams of all kinds.

#![deny(unsafe_code)]

use crate::program::Program;
use cuda_launch::stream::StreamFlags;
use cuda_launch::{CudaStream, Error};

impl Program {
    pub(crate) fn new_stream(&mut self) -> Result<(), Error> {
        let flags = if self.random.one_in(2) { StreamFlags::NON_BLOCKING } else { StreamFlags::empty() };
        let stream = CudaStream::new(&self.ctx, flags, 0)?;
        if self.streams.len() > 6 {
            let index = self.random.below(self.streams.len());
            self.streams.swap_remove(index);
        }
        self.streams.push(stream);
        Ok(())
    }

    /// What it was given goes on.
    pub(crate) fn close_stream(&mut self) -> Result<(), Error> {
        let (stream, value) = (self.ctx.new_stream()?, self.random.number());
        self.keep_busy(&stream);
        let (index, half) = (self.random.below(self.buffers.len()), self.random.below(2));
        let buffer = &mut self.buffers[index];
        buffer.memory.half_mut(half).fill(&stream, value)?;
        self.holds[buffer.id][half] = value;
        stream.close()
    }

    pub(crate) fn fork(&mut self) -> Result<(), Error> {
        let fork = self.stream().fork()?;
        let index = self.random.below(self.streams.len());
        self.streams[index] = fork;
        Ok(())
    }

    /// The program goes on after a panic in one.
    pub(crate) fn host_function(&mut self) -> Result<(), Error> {
        let stream = self.ctx.new_stream()?;
        if self.random.one_in(2) {
            stream.call_host(|| panic!("in a host function"))?;
            let error = stream.synchronize().expect_err("a host function has panicked");
            assert!(error.to_string().contains("in a host function"), "{error}");
        }
        let (tell, told) = std::sync::mpsc::channel();
        stream.call_host(move || tell.send(()).unwrap())?;
        stream.synchronize()?;
        assert!(told.try_recv().is_ok());
        Ok(())
    }

    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        if self.random.one_in(2) { self.ctx.synchronize() } else { self.stream().synchronize() }
    }
}
