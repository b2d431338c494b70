//! One piece of work being submitted to a stream: what it reads and writes, and the call that submits it.

use cuda_driver_sys::{CUresult, Driver};
use std::sync::Arc;

use crate::driver::{CudaStream, NO_KERNEL, OwnGuard, Resource, StreamAccesses, StreamWaits, ThreadStream};
use crate::error::Error;

/// Work that was announced on a stream and is about to be submitted; finished when this is dropped. Until then the
/// accesses that it has noted stay in the lists of their memory.
#[derive(Debug)]
pub struct Submission<'s> {
    stream: &'s CudaStream,
    number: usize,
    waits: StreamWaits,
    /// The turn in the capture that `stream` belongs to; an error if it cannot be had.
    turn: Result<Option<OwnGuard<'s, ()>>, Error>,
}

impl Drop for Submission<'_> {
    fn drop(&mut self) {
        self.stream.queue().submissions.finish();
    }
}

impl<'s> Submission<'s> {
    /// Announces work on `stream` that launches no kernel of its own.
    pub(crate) fn on(stream: &'s CudaStream) -> Self {
        Self::announced(stream, stream.queue().announce_in_turn())
    }

    /// The same for work whose memory is not borrowed (launches of graphs). It is not held back.
    pub(crate) fn unborrowed(stream: &'s CudaStream) -> Self {
        let queue = stream.queue();
        let mut work = Self::announced(stream, queue.announce(NO_KERNEL));
        work.waits = StreamWaits::unborrowed();
        work
    }

    /// Work that was announced on `stream` with this number, and will read again whatever state it has read so far.
    pub(crate) fn begun(stream: &'s CudaStream, number: usize) -> Self {
        Self::announced(stream, stream.queue().in_turn(number))
    }

    /// Work that was announced on `stream` with this number, and is not finished yet.
    pub(crate) fn announced(stream: &'s CudaStream, number: usize) -> Self {
        Self { stream, number, waits: StreamWaits::default(), turn: stream.turn("a submission") }
    }

    /// The error of taking the turn of the capture, if that failed.
    pub(crate) fn has_turn(&mut self) -> Result<(), Error> {
        match &mut self.turn {
            Ok(_) => Ok(()),
            turn => std::mem::replace(turn, Ok(None)).map(|_| ()),
        }
    }

    /// The stream.
    pub(crate) fn stream(&self) -> &'s CudaStream {
        self.stream
    }

    /// The streams that it waits for, after all its accesses are noted.
    pub(crate) fn take_waits(&mut self) -> StreamWaits {
        std::mem::take(&mut self.waits)
    }

    /// Records that it launches the kernel with this number, which is then listed if a fault occurs.
    pub(crate) fn launches(&self, kernel: u32) {
        self.stream.queue().launches.note(self.number, kernel);
    }

    /// Records that it launches no kernel after all.
    pub(crate) fn refused(&self) {
        self.launches(NO_KERNEL);
    }

    /// The work reads this memory: it comes after all that wrote it.
    ///
    /// Driver calls, if another stream wrote it: `cuEventRecord` there and `cuStreamWaitEvent` here.
    pub(crate) fn reads<R: Resource + 'static>(&mut self, memory: &Arc<R>) -> Result<(), Error> {
        self.accesses(memory.accesses(), false, || memory.clone())
    }

    /// The work writes this memory: it comes after all that read or wrote it.
    ///
    /// Driver calls, for each other stream: `cuEventRecord` there and `cuStreamWaitEvent` here.
    pub(crate) fn writes<R: Resource + 'static>(&mut self, memory: &Arc<R>) -> Result<(), Error> {
        self.accesses(memory.accesses(), true, || memory.clone())
    }

    /// The work accesses this memory, and writes it if `written`. A stream that captures keeps `owner` instead: its work runs
    /// later, with the graph.
    pub(crate) fn accesses(
        &mut self,
        accesses: &StreamAccesses,
        written: bool,
        owner: impl FnOnce() -> Arc<dyn Resource>,
    ) -> Result<(), Error> {
        self.has_turn()?;
        let (stream, waits) = (self.stream(), &mut self.waits);
        if let Some(capture) = stream.capture() {
            return capture.touch(owner(), stream, waits, written);
        }
        let key = stream.queue().key();
        if accesses.word(written) & key == key {
            return Ok(());
        }
        self.order(accesses, written)
    }

    /// Notes the access, and makes the stream wait for earlier accesses. Not inlined, so that the generic code that it calls is compiled
    /// once and not in every crate that submits work.
    #[inline(never)]
    fn order(&mut self, accesses: &StreamAccesses, written: bool) -> Result<(), Error> {
        if ThreadStream::is_ready(self.stream, accesses.word(written)) {
            return Ok(());
        }
        ThreadStream::may_order("cuStreamWaitEvent")?;
        let stream = ThreadStream::here(self.stream);
        let waits = &mut self.waits;
        if written { accesses.write(&stream, waits) } else { accesses.read(&stream, waits) }
    }

    /// Submits the work by this call of the driver, as `CudaContext::call` does, and finishes.
    pub(crate) fn call(
        self,
        name: &'static str,
        asked: impl Fn() -> String,
        mut call: impl FnMut(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.made(name, &asked, &mut call)
    }

    /// Not generic, so that it is compiled once and not for each call.
    fn made(
        mut self,
        name: &'static str,
        asked: &dyn Fn() -> String,
        call: &mut dyn FnMut(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.has_turn()?;
        self.stream().context().call(name, asked, call)
    }
}
