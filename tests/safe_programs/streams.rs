//! Steps with streams: of all kinds, also those that each thread has for itself.

#![deny(unsafe_code)]

use crate::change::{Change, Planned, range};
use crate::program::Program;
use cuda_launch::stream::StreamFlags;
use cuda_launch::{CudaStream, Error};
use std::thread;

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

    pub(crate) fn fork(&mut self) -> Result<(), Error> {
        let fork = self.stream().fork()?;
        let index = self.random.below(self.streams.len());
        self.streams[index] = fork;
        Ok(())
    }

    /// Threads that share a handle, which means another stream on each, or have one of their own; what they were given goes on
    /// after they have ended.
    pub(crate) fn per_thread(&mut self) -> Result<(), Error> {
        let shared = self.ctx.per_thread_stream();
        if self.random.one_in(2) {
            return self.change_halves_on(&[shared.clone(), shared]);
        }
        // One after the other, and this thread waits for nobody.
        for _ in 0..1 + self.random.below(3) {
            let (planned, own) = (self.plan(Change::random), self.random.one_in(2));
            let pace = self.random.pace();
            let Planned { to, from, half, change } = planned;
            let Self { buffers, kernels, ctx, .. } = self;
            let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
            let (mut target, source) =
                (target.memory.slice_mut(range(half)), source.memory.slice(range(half)));
            thread::scope(|scope| {
                let work = || {
                    let stream = if own { ctx.per_thread_stream() } else { shared.clone() };
                    pace.set(&stream)?;
                    change.submit(kernels, &stream, &mut target, &source)
                };
                scope.spawn(work).join().unwrap()
            })?;
            self.by_id(planned).apply(&mut self.holds);
        }
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
