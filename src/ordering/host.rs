//! Waits of the host for work on memory, and where memory can be freed.

use super::Queue;
use crate::driver::{CudaContext, CudaStream, StreamAccesses, ThreadStream};
use crate::error::Error;

impl StreamAccesses {
    /// Waits on the host until nothing uses the memory any more.
    ///
    /// Driver call: `cuStreamSynchronize` for each stream that used it.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        ThreadStream::may_order("cuStreamSynchronize")?;
        let pending = self.pending();
        // Without the lock: a stream may be waiting for a thread that is about to access this memory.
        pending.named().try_for_each(ThreadStream::drain)?;
        self.settle(&pending);
        Ok(())
    }

    /// Waits on the host until the memory is written; it may still be read.
    ///
    /// Driver call: `cuStreamSynchronize` for each stream that wrote it.
    pub(crate) fn wait_for_writers(&self) -> Result<(), Error> {
        ThreadStream::may_order("cuStreamSynchronize")?;
        self.writers().iter().try_for_each(ThreadStream::drain)
    }

    /// Waits on the host before the memory is freed: for all work in the context if `all` is set, or if the driver
    /// refuses less.
    pub(crate) fn end(&self, context: &CudaContext, all: bool) -> Result<(), Error> {
        if !all && self.wait().is_ok() {
            return Ok(());
        }
        self.end_of_strangers(context)?;
        context.end_of_work()
    }

    /// Waits on the host until nothing uses memory that was lent, for each stream as [`submit_and_wait`] does: the
    /// owner gets the memory back even after an error. Copies on per-thread streams of other threads were waited for by
    /// those threads.
    ///
    /// Driver call: `cuStreamSynchronize` for each stream that used it.
    pub(crate) fn end_of_loan(&self) -> Result<(), Error> {
        let queues = self.queues();
        // All guards are made first, so that they wait even if one of the waits unwinds.
        let handles = queues.iter().filter_map(ThreadStream::handle_of_loan);
        let unfinished: Vec<_> = handles.map(Unfinished).collect();
        if std::thread::panicking() {
            // The panic may come from a traced wait.
            return Ok(());
        }
        unfinished.into_iter().map(|stream| stream.wait(CudaStream::drain)).fold(Ok(()), Result::and)
    }

    /// Whether streams of other contexts use the memory.
    pub(crate) fn has_strangers(&self, context: &CudaContext) -> bool {
        self.queues().iter().any(|queue| !queue.context().is_same(context))
    }

    /// Waits on the host for the streams of other contexts that use the memory; their work has also ended after a
    /// fault.
    ///
    /// Driver call: `cuStreamSynchronize` for each.
    pub(crate) fn end_of_strangers(&self, context: &CudaContext) -> Result<(), Error> {
        let queues = self.queues();
        let mut strangers = queues.iter().filter(|queue| !queue.context().is_same(context));
        strangers.try_for_each(|queue| match queue.drain() {
            Err(error) if !error.is_sticky() => Err(error),
            _ => Ok(()),
        })
    }

    /// A stream that is ordered after all accesses, on which the memory can be freed: the only stream that accessed it,
    /// or else `otherwise`, which is made to wait for all of them. `None` if it is `otherwise`.
    pub(crate) fn last_stream(&mut self, otherwise: &CudaStream) -> Result<Option<CudaStream>, Error> {
        if let Some(stream) = self.only().and_then(ThreadStream::handle)
            && stream.context().is_same(otherwise.context())
        {
            return Ok((stream.identity() != otherwise.identity()).then(|| stream.clone()));
        }
        let queues = self.queues();
        let last = ThreadStream::here(otherwise);
        queues.iter().filter(|queue| !queue.is(&last)).try_for_each(|queue| last.wait_for(queue))?;
        Ok(None)
    }

    /// Whether all accesses were made on `stream`, as this thread means it.
    #[inline]
    pub(crate) fn is_only_of(&mut self, stream: &CudaStream) -> bool {
        self.only().is_some_and(|only| only.means(stream))
    }

    /// Like [`last_stream`](Self::last_stream), for memory that any work in its context may access: `None` if the
    /// stream of some of that work no longer exists, so that it cannot be waited for.
    pub(crate) fn last_stream_of_all(&self, otherwise: &CudaStream) -> Option<CudaStream> {
        let busy = otherwise.context().busy_streams()?;
        let mut queues = self.queues();
        for stream in busy.iter().map(ThreadStream::here) {
            if !queues.iter().any(|queue| queue.is(&stream)) {
                queues.push(stream);
            }
        }
        let last = last_of(&queues, otherwise);
        // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust leaks that value.
        // One of these may by now be the last handle of a stream.
        drop((queues, busy));
        last
    }
}

/// A stream that is ordered after all of these.
fn last_of(queues: &[ThreadStream], otherwise: &CudaStream) -> Option<CudaStream> {
    let context = otherwise.context();
    if queues.is_empty() {
        return Some(otherwise.clone());
    }
    if let [only] = queues
        && let Some(stream) = only.handle()
        && stream.context().is_same(context)
    {
        return Some(stream.clone());
    }
    // A stream of the crate's own, so that no stream of the user waits for the others.
    let last = context.freeing_stream().ok()?;
    let here = ThreadStream::here(&last);
    queues.iter().try_for_each(|queue| here.wait_for(queue)).ok()?;
    Some(last)
}

/// Submits work that uses host memory of the caller, and waits until it is done, even after an error, when part of it may be
/// running, and if a `tracing` subscriber panics.
///
/// Driver calls: those of `submit`, `cuStreamSynchronize`.
pub(crate) fn submit_and_wait(
    stream: &CudaStream,
    submit: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let unfinished = Unfinished(stream);
    submit().and(unfinished.wait(CudaStream::synchronize))
}

/// Work that uses borrowed host memory: waits when it is dropped.
struct Unfinished<'s>(&'s CudaStream);

impl<'s> Unfinished<'s> {
    fn wait(self, wait: impl FnOnce(&'s CudaStream) -> Result<(), Error>) -> Result<(), Error> {
        let waited = wait(self.0);
        // A fault has ended the work; after any other error it may go on, and `Drop` waits.
        if waited.as_ref().err().is_none_or(Error::is_sticky) {
            std::mem::forget(self);
        }
        waited
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.wait_untraced();
    }
}
