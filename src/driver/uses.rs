//! Who used a piece of memory last, so that streams wait for each other where they must and nowhere else.
//!
//! A use is noted before its work is submitted, while the caller borrows the memory: readers share it, a writer has it
//! alone. So a note and the work behind it cannot be torn apart by whoever must wait for them. But a graph shares memory with
//! whoever else holds it, and a launch of it borrows nothing of theirs: such memory *escapes*, and its end waits for all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::capture::Resource;
use super::context::CudaContext;
use super::stream::CudaStream;
use crate::error::Error;

/// So many readers are remembered one by one; the next one waits for them and stands for all.
const MANY_READERS: usize = 8;

/// The streams that used some memory since it was last written, and the one that wrote it.
///
/// One stream alone costs a comparison. Another one that reads waits for the writer, one that writes waits for all: one
/// event recorded and one wait for each of them.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Identity of a stream that may read again without a look at the list; 0 for none.
    reader: AtomicUsize,
    /// Identity of the stream that may write again without a look at the list; 0 for none.
    writer: AtomicUsize,
    users: Mutex<Vec<User>>,
}

/// The streams that one piece of work waits for already, so that it waits once for each, whatever it shares with them.
#[derive(Debug, Default)]
pub struct Waits(Vec<usize>);

#[derive(Debug)]
struct User {
    /// Kept alive: its work is what others wait for.
    stream: CudaStream,
    wrote: bool,
    /// Whose stream it was, where the handle means another stream on every thread.
    thread: Option<ThreadId>,
}

impl Uses {
    /// Whether work on `stream` may read without waiting for anything.
    #[inline(always)]
    pub(crate) fn may_read(&self, stream: &CudaStream) -> bool {
        // Relaxed: the identity stands for a stream that the list keeps alive; who may change it is excluded by the borrow.
        self.reader.load(Ordering::Relaxed) == stream.identity()
    }

    /// Whether work on `stream` may write without waiting for anything.
    #[inline(always)]
    pub(crate) fn may_write(&self, stream: &CudaStream) -> bool {
        self.writer.load(Ordering::Relaxed) == stream.identity()
    }

    /// As [`Uses::read_with`], of work that uses nothing else.
    #[inline]
    pub(crate) fn read_on(
        &self,
        stream: &CudaStream,
        owner: impl FnOnce() -> Arc<dyn Resource>,
    ) -> Result<(), Error> {
        self.read_with(stream, &mut Waits::default(), owner)
    }

    /// As [`Uses::write_with`], of work that uses nothing else.
    #[inline]
    pub(crate) fn write_on(
        &self,
        stream: &CudaStream,
        owner: impl FnOnce() -> Arc<dyn Resource>,
    ) -> Result<(), Error> {
        self.write_with(stream, &mut Waits::default(), owner)
    }

    /// Orders work on `stream` that reads after the work that wrote; call it before the work is submitted.
    ///
    /// Driver calls, if another stream wrote: `cuEventRecord` there and `cuStreamWaitEvent` here. A stream that captures
    /// keeps `owner` instead: its work runs later, with the graph.
    #[inline]
    pub(crate) fn read_with(
        &self,
        stream: &CudaStream,
        waits: &mut Waits,
        owner: impl FnOnce() -> Arc<dyn Resource>,
    ) -> Result<(), Error> {
        if self.may_read(stream) {
            return Ok(());
        }
        match stream.capture() {
            Some(capture) => capture.touch(owner(), stream, waits, false),
            None => self.note_read(stream, waits),
        }
    }

    /// Orders work on `stream` that writes after all work that read or wrote; call it before the work is submitted.
    ///
    /// Driver calls, for each other stream: `cuEventRecord` there and `cuStreamWaitEvent` here.
    #[inline]
    pub(crate) fn write_with(
        &self,
        stream: &CudaStream,
        waits: &mut Waits,
        owner: impl FnOnce() -> Arc<dyn Resource>,
    ) -> Result<(), Error> {
        if self.may_write(stream) {
            return Ok(());
        }
        match stream.capture() {
            Some(capture) => capture.touch(owner(), stream, waits, true),
            None => self.note_write(stream, waits),
        }
    }

    /// As [`Uses::read_with`], of a stream that does not capture or of the capture itself.
    #[cold]
    pub(super) fn note_read(&self, stream: &CudaStream, waits: &mut Waits) -> Result<(), Error> {
        let mut users = self.users();
        if !users.iter().any(|user| user.is(stream)) {
            for user in users.iter().filter(|user| user.wrote) {
                user.before(stream, waits)?;
            }
            if users.len() > MANY_READERS {
                for user in users.iter().filter(|user| !user.wrote) {
                    user.before(stream, waits)?;
                }
                users.retain(|user| user.wrote);
            }
            users.push(User::new(stream, false));
            self.writer.store(0, Ordering::Relaxed);
        }
        self.reader.store(stream.lasting_identity(), Ordering::Relaxed);
        Ok(())
    }

    /// As [`Uses::write_with`], of a stream that does not capture or of the capture itself.
    #[cold]
    pub(super) fn note_write(&self, stream: &CudaStream, waits: &mut Waits) -> Result<(), Error> {
        let mut users = self.users();
        for user in users.iter().filter(|user| !user.is(stream)) {
            user.before(stream, waits)?;
        }
        users.clear();
        users.push(User::new(stream, true));
        self.reader.store(stream.lasting_identity(), Ordering::Relaxed);
        self.writer.store(stream.lasting_identity(), Ordering::Relaxed);
        Ok(())
    }

    /// Waits on the host until nothing uses the memory any more.
    ///
    /// Driver call: `cuStreamSynchronize` for each stream that used it.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        let mut users = self.users();
        for user in users.iter() {
            user.wait()?;
        }
        self.forget(&mut users);
        Ok(())
    }

    /// The same at the end of the memory: waits for all work of the context where `all` says so, or where the driver refuses
    /// less. A fault ends all work, too; after any other error nobody knows whether it is done.
    pub(crate) fn end(&self, context: &CudaContext, all: bool) -> Result<(), Error> {
        if !all && self.wait().is_ok() {
            return Ok(());
        }
        context.drain().or_else(|error| if error.is_sticky() { Ok(()) } else { Err(error) })
    }

    /// Waits on the host until the memory is written; it may still be read.
    ///
    /// Driver call: `cuStreamSynchronize` for the stream that wrote it.
    pub(crate) fn wait_for_writer(&self) -> Result<(), Error> {
        self.users().iter().find(|user| user.wrote).map_or(Ok(()), User::wait)
    }

    /// The host has waited for all work on the memory: nobody needs to wait for it again.
    pub(crate) fn settled(&self) {
        self.forget(&mut self.users());
    }

    /// A stream that all uses come before: where the memory can be freed. It is the only user, else `otherwise`, which then
    /// waits for all.
    pub(crate) fn last_stream(&self, otherwise: &CudaStream) -> Result<CudaStream, Error> {
        let users = self.users();
        if let [user] = users.as_slice()
            && user.is_here()
            && user.stream.shares_context(otherwise)
        {
            return Ok(user.stream.clone());
        }
        let waits = &mut Waits::default();
        for user in users.iter().filter(|user| !user.is(otherwise)) {
            user.before(otherwise, waits)?;
        }
        Ok(otherwise.clone())
    }

    fn forget(&self, users: &mut Vec<User>) {
        users.clear();
        self.reader.store(0, Ordering::Relaxed);
        self.writer.store(0, Ordering::Relaxed);
    }

    // Nothing panics while the lock is held, and every state of the list is whole.
    fn users(&self) -> MutexGuard<'_, Vec<User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl User {
    fn new(stream: &CudaStream, wrote: bool) -> Self {
        Self { stream: stream.clone(), wrote, thread: stream.is_per_thread().then(|| thread::current().id()) }
    }

    /// Whether its handle means that stream on this thread.
    fn is_here(&self) -> bool {
        self.thread.is_none_or(|thread| thread == thread::current().id())
    }

    fn is(&self, stream: &CudaStream) -> bool {
        self.stream.identity() == stream.identity() && self.is_here()
    }

    /// Makes `later` wait for this use.
    fn before(&self, later: &CudaStream, waits: &mut Waits) -> Result<(), Error> {
        // A handle that means another stream on every thread stands for none of them.
        let once = self.thread.is_none();
        if once && waits.0.contains(&self.stream.identity()) {
            return Ok(());
        }
        // Another thread's stream has no handle here: the host waits for it.
        if self.is_here() {
            later.after(&self.stream)?;
        } else {
            self.stream.context().drain()?;
        }
        if once {
            waits.0.push(self.stream.identity());
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        if self.is_here() { self.stream.drain() } else { self.stream.context().drain() }
    }
}
