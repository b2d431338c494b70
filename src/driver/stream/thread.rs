//! A stream as recorded by the memory that it accessed.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use super::CudaStream;
use super::patience::{Launching, Others, Patience};
use super::queue::StreamQueue;
use crate::driver::capture::open::outside_captures;
use crate::driver::context::CudaContext;
use crate::driver::host_call;
use crate::error::Error;
use crate::ordering::{Accesses, Queue, Submissions, Waits};

/// A stream, kept alive: its work is what others wait for.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStream {
    pub(super) stream: CudaStream,
    /// Whose stream it is, if the handle means a different stream on every thread.
    own: Option<Arc<OwnStream>>,
}

/// What a handle that means a different stream on every thread means on one of them.
#[derive(Debug)]
struct OwnStream {
    thread: ThreadId,
    /// Counts the accesses to memory that the thread has announced. Only that thread changes it, and the next.
    announced: AtomicUsize,
    /// How many of them the thread has waited for.
    seen: AtomicUsize,
}

impl OwnStream {
    /// That of this thread.
    fn of(stream: &CudaStream) -> Arc<Self> {
        let handle = stream.identity();
        let found = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            if let Some((_, found)) = own.iter().find(|(of, _)| *of == handle) {
                return found.clone();
            }
            // Those that no list has any more: their handles may be gone, and another one be in their place.
            own.retain(|(_, other)| Arc::strong_count(other) > 1);
            let new = Arc::new(Self::new());
            own.push((handle, new.clone()));
            new
        });
        // At the end of the thread it is one that nobody finds again: it counts as busy.
        found.unwrap_or_else(|_| Arc::new(Self::new()))
    }

    fn new() -> Self {
        let (announced, seen) = Default::default();
        Self { thread: thread::current().id(), announced, seen }
    }

    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Whether the thread has waited for all that it has given to it.
    fn is_idle(&self) -> bool {
        // Acquire: who sees it gives its work after that wait.
        self.seen.load(Ordering::Acquire) == self.announced.load(Ordering::Acquire)
    }
}

/// A wait for what a handle means on this thread, if that is a stream of its own: what it will have seen the end of.
pub(super) struct OwnWait(Option<(Arc<OwnStream>, usize)>);

impl OwnWait {
    /// Call it before the wait.
    pub(super) fn begin(stream: &CudaStream) -> Self {
        if !stream.is_per_thread() {
            return Self(None);
        }
        let submissions = &stream.queue().submissions;
        // What is announced only is not waited for. It is this thread's if it is in the middle of a submission, and calls what waits.
        let is_quiet = submissions.have_finished(submissions.announced());
        let own = OwnStream::of(stream);
        let announced = own.announced.load(Ordering::Relaxed);
        Self(is_quiet.then_some((own, announced)))
    }

    /// The wait is over.
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
    /// Whether this thread is in a call of the driver that orders an access: meanwhile it may have the list of the memory.
    static ORDERS: Cell<bool> = const { Cell::new(false) };

    /// What handles mean on this thread alone, by their identity.
    static OWN: RefCell<Vec<(usize, Arc<OwnStream>)>> = const { RefCell::new(Vec::new()) };
}

/// Such a call; over when this is dropped.
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
    /// An error for `call` if this thread is just ordering an access, and the driver's log or a span has called what asks for another
    /// one: it may be to the same memory, whose list this thread may have.
    pub(crate) fn may_order(call: &'static str) -> Result<(), Error> {
        if orders() { Err(host_call::inside_of(call)) } else { Ok(()) }
    }

    /// The stream that this handle means on this thread, which may be about to be given work.
    pub(crate) fn here(stream: &CudaStream) -> Self {
        let own = stream.is_per_thread().then(|| OwnStream::of(stream));
        let here = Self { stream: stream.clone(), own };
        here.announce();
        here
    }

    /// It may be about to be given work, by this thread if it is one's own.
    pub(crate) fn announce(&self) {
        if let Some(own) = &self.own {
            own.announced.fetch_add(1, Ordering::Release);
        }
    }

    /// The stream, if its handle means it on this thread.
    pub(crate) fn handle(&self) -> Option<&CudaStream> {
        self.own.as_ref().is_none_or(|own| own.is_here()).then_some(&self.stream)
    }

    /// Whether it is the stream of a thread that has waited for all that it has given to it.
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

    /// Waits on the host until it is idle, and reports panics in its host functions if this crate has a handle to it.
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
        if is_so() {
            return Ok(());
        }
        let call = "cuStreamWaitEvent";
        // A listener in the middle of that very launch.
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
            // Nobody can ask another thread's stream; to wait for the whole context would make readers wait for each other.
            return self.is_idle() || !self.stream.is_unsettled();
        };
        // Nobody asked for this call: it must not break a capture of other code. An error tells nothing.
        outside_captures(stream.context(), || stream.is_done()).unwrap_or(false)
    }
}
