//! Streams as memory records them in its lists of accesses.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use super::CudaStream;
use super::patience::{LAUNCHES_GRAPHS, Launching, Others, Patience};
use super::queue::StreamQueue;
use crate::driver::capture::open::outside_captures;
use crate::driver::context::CudaContext;
use crate::driver::host_call;
use crate::error::Error;
use crate::ordering::{Accesses, Queue, Submissions, Waits};

/// A stream that accessed memory, kept alive because others may have to wait for it.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStream {
    pub(super) stream: CudaStream,
    /// The stream of the thread that made the access, if the handle means a different stream on every thread.
    own: Option<Arc<OwnStream>>,
}

/// The stream that a per-thread handle means on one thread.
#[derive(Debug)]
struct OwnStream {
    thread: ThreadId,
    /// The number of accesses to memory that the thread has announced. Only that thread changes this field and the
    /// next.
    announced: AtomicUsize,
    /// How many of them the thread has waited for.
    seen: AtomicUsize,
}

impl OwnStream {
    /// The stream that `stream` means on this thread.
    fn of(stream: &CudaStream) -> Arc<Self> {
        let handle = stream.identity();
        let found = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            if let Some((_, found)) = own.iter().find(|(of, _)| *of == handle) {
                return found.clone();
            }
            // Removes those that no list holds any more: their handle may be gone, and its address reused.
            own.retain(|(_, other)| Arc::strong_count(other) > 1);
            let new = Arc::new(Self::new());
            own.push((handle, new.clone()));
            new
        });
        // While the thread's locals are destroyed: a stream that no later call finds again, and that counts as busy.
        found.unwrap_or_else(|_| Arc::new(Self::new()))
    }

    fn new() -> Self {
        let (announced, seen) = Default::default();
        Self { thread: thread::current().id(), announced, seen }
    }

    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Whether the thread has waited for all work that it has submitted to it.
    fn is_idle(&self) -> bool {
        // Acquire: a thread that sees this submits its work after that wait.
        self.seen.load(Ordering::Acquire) == self.announced.load(Ordering::Acquire)
    }
}

/// A wait for the stream that a per-thread handle means on this thread: the number of accesses whose end it will have
/// seen.
pub(super) struct OwnWait(Option<(Arc<OwnStream>, usize)>);

impl OwnWait {
    /// To be called before the wait.
    pub(super) fn begin(stream: &CudaStream) -> Self {
        if !stream.is_per_thread() {
            return Self(None);
        }
        let submissions = &stream.queue().submissions;
        // Submissions that are only announced are not waited for. There is one of this thread if it waits in the middle of a
        // submission.
        let is_quiet = submissions.have_finished(submissions.announced());
        let own = OwnStream::of(stream);
        let announced = own.announced.load(Ordering::Relaxed);
        Self(is_quiet.then_some((own, announced)))
    }

    /// To be called when the wait is over.
    pub(super) fn end(self) {
        if let Self(Some((own, announced))) = self {
            own.seen.store(announced, Ordering::Release);
        }
    }
}

/// The streams that access a piece of memory.
pub(crate) type StreamAccesses = Accesses<ThreadStream>;

/// The streams that one submission waits for.
pub(crate) type StreamWaits = Waits<ThreadStream>;

thread_local! {
    /// Whether this thread is in a driver call that orders an access: it may then hold the lock of the memory's list.
    static ORDERS: Cell<bool> = const { Cell::new(false) };

    /// The streams that per-thread handles mean on this thread, by the identity of the handle.
    static OWN: RefCell<Vec<(usize, Arc<OwnStream>)>> = const { RefCell::new(Vec::new()) };
}

/// Exists during such a call.
pub(super) struct Orders(bool);

impl Orders {
    pub(super) fn begin() -> Self {
        Self(ORDERS.replace(true))
    }
}

/// Whether this thread is in such a call.
pub(super) fn orders() -> bool {
    ORDERS.get()
}

impl Drop for Orders {
    fn drop(&mut self) {
        ORDERS.set(self.0);
    }
}

impl ThreadStream {
    /// An error for `call` if this thread is ordering an access, and a log callback or `tracing` subscriber has requested another
    /// one: that may be to the same memory, whose list this thread may have locked.
    pub(crate) fn may_order(call: &'static str) -> Result<(), Error> {
        if orders() { Err(host_call::inside_of(call)) } else { Ok(()) }
    }

    /// The stream that this handle means on this thread, to which work may be about to be submitted.
    pub(crate) fn here(stream: &CudaStream) -> Self {
        let own = stream.is_per_thread().then(|| OwnStream::of(stream));
        let here = Self { stream: stream.clone(), own };
        here.announce();
        here
    }

    /// Records that work may be about to be submitted to it; by this thread, if it is a per-thread stream.
    pub(crate) fn announce(&self) {
        if let Some(own) = &self.own {
            own.announced.fetch_add(1, Ordering::Release);
        }
    }

    /// The stream, if its handle means it on this thread.
    pub(crate) fn handle(&self) -> Option<&CudaStream> {
        self.own.as_ref().is_none_or(|own| own.is_here()).then_some(&self.stream)
    }

    /// Whether it is the per-thread stream of a thread that has waited for all work that it has submitted to it.
    fn is_idle(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.is_idle())
    }

    /// Its context.
    pub(crate) fn context(&self) -> &CudaContext {
        self.stream.context()
    }

    /// Whether it is what this thread means by `stream`.
    pub(crate) fn means(&self, stream: &CudaStream) -> bool {
        self.handle().is_some_and(|own| own.identity() == stream.identity())
    }

    /// Waits on the host until it is idle, and reports panics of its host functions if it has a handle on this thread.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.handle().map_or_else(|| self.drain(), CudaStream::synchronize)
    }

    /// Waits on the host until it is idle.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream, which has no handle here; none if that
    /// thread has waited for it.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        match self.handle() {
            Some(stream) => stream.drain(),
            None if self.is_idle() => self.stream.context().faulted(),
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
        let own = |queue: &Self| queue.own.as_ref().map(Arc::as_ptr);
        self.stream.identity() == other.stream.identity() && own(self) == own(other)
    }

    fn unborrowed(&self) -> &Submissions {
        &self.stream.queue().graphs
    }

    fn wait_until(&self, earlier: &Self, is_so: impl Fn() -> bool) -> Result<(), Error> {
        if !LAUNCHES_GRAPHS || is_so() {
            return Ok(());
        }
        let call = "cuStreamWaitEvent";
        // Called from a `tracing` subscriber or log callback in the middle of that launch.
        if Launching::is_to(&earlier.stream) {
            return Err(host_call::inside_of(call));
        }
        let streams = || vec![earlier.stream.clone()];
        let others = Others(StreamQueue::hold_graphs, &streams);
        Patience::of(call).until(&is_so, &others)
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
            // Another thread's stream cannot be queried, and waiting for the whole context would make readers wait for each
            // other.
            return self.is_idle() || !self.stream.is_unsettled();
        };
        // The user did not request this call, so it must not invalidate a capture of other code. An error is no
        // information.
        outside_captures(stream.context(), || stream.is_done()).unwrap_or(false)
    }
}
