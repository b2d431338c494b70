//! A stream as recorded by the memory that it accessed.

use std::cell::Cell;
use std::thread::{self, ThreadId};

use super::CudaStream;
use crate::driver::capture::open::outside_captures;
use crate::driver::context::CudaContext;
use crate::driver::host_call;
use crate::error::Error;
use crate::ordering::{Accesses, Queue, Submissions, Waits};

/// A stream, kept alive: its work is what others wait for.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStream {
    stream: CudaStream,
    /// The thread whose stream it is, if the handle means a different stream on every thread.
    thread: Option<ThreadId>,
}

/// The streams that access a piece of memory.
pub(crate) type StreamAccesses = Accesses<ThreadStream>;

/// The streams that one submission waits for.
pub(crate) type StreamWaits = Waits<ThreadStream>;

thread_local! {
    /// Whether this thread is in a call of the driver that orders an access: meanwhile it may have the list of the memory.
    static ORDERS: Cell<bool> = const { Cell::new(false) };
}

/// Such a call; over when this is dropped.
struct Orders(bool);

impl Orders {
    fn begin() -> Self {
        Self(ORDERS.replace(true))
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        ORDERS.set(self.0);
    }
}

impl ThreadStream {
    /// An error for `call` if this thread is just ordering an access, and the driver's log or a span has called what asks for another
    /// one: it may be to the same memory, whose list this thread may have.
    pub(crate) fn may_order(call: &'static str) -> Result<(), Error> {
        if ORDERS.get() { Err(host_call::inside_of(call)) } else { Ok(()) }
    }

    /// The stream that this handle means on this thread.
    pub(crate) fn here(stream: &CudaStream) -> Self {
        Self { stream: stream.clone(), thread: stream.is_per_thread().then(|| thread::current().id()) }
    }

    /// The stream, if its handle means it on this thread.
    pub(crate) fn handle(&self) -> Option<&CudaStream> {
        self.thread.is_none_or(|thread| thread == thread::current().id()).then_some(&self.stream)
    }

    /// Its context.
    pub(crate) fn context(&self) -> &CudaContext {
        self.stream.context()
    }

    /// Whether it is what this thread means by `stream`.
    pub(crate) fn means(&self, stream: &CudaStream) -> bool {
        self.handle().is_some_and(|own| own.identity() == stream.identity())
    }

    /// Waits on the host until it is idle, and reports panics in its host functions if this crate has a handle to it.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.handle().map_or_else(|| self.drain(), CudaStream::synchronize)
    }

    /// Waits on the host until it is idle.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream, which has no handle here.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        match self.handle() {
            Some(stream) => stream.drain(),
            None => self.stream.context().drain(),
        }
    }
}

impl Queue for ThreadStream {
    type Error = Error;

    fn submissions(&self) -> &Submissions {
        &self.stream.queue().submissions
    }

    fn key(&self) -> u64 {
        self.stream.queue().key()
    }

    fn claim_key(&self) -> u64 {
        self.stream.claim_key()
    }

    fn is(&self, other: &Self) -> bool {
        self.stream.identity() == other.stream.identity() && self.thread == other.thread
    }

    fn wait_for(&self, earlier: &Self) -> Result<(), Error> {
        let _orders = Orders::begin();
        match earlier.handle() {
            Some(stream) => self.stream.after_in_turn(stream),
            None => earlier.drain(),
        }
    }

    fn has_seen_end_of(&self, announced: usize) -> bool {
        self.stream.has_seen_end_of(announced)
    }

    fn is_done(&self) -> bool {
        let _orders = Orders::begin();
        let Some(stream) = self.handle() else {
            // Nobody can ask another thread's stream; to wait for the whole context would make readers wait for each other.
            return !self.stream.is_unsettled();
        };
        // Nobody asked for this call: it must not break a capture of other code. An error tells nothing.
        outside_captures(stream.context(), || stream.is_done()).unwrap_or(false)
    }
}
