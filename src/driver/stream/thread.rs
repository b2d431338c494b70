//! Streams as memory records them in its lists of accesses.

#![allow(unsafe_code)] // A thread's own list of streams is read by address.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use super::patience::{LAUNCHES_GRAPHS, Launching, Others, Patience};
use super::queue::StreamQueue;
use super::{CudaStream, StreamInner};
use crate::driver::capture::open::outside_captures;
use crate::driver::context::CudaContext;
use crate::driver::context::work::Keys;
use crate::driver::fault::NO_KERNEL;
use crate::driver::host_call;
use crate::error::Error;
use crate::ordering::{Accesses, NO_KEY, Queue, Submissions, Waits};

/// A stream that accessed memory, kept alive because others may have to wait for it.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStream {
    pub(super) stream: CudaStream,
    /// The stream of the thread that made the access, if the handle means a different stream on every thread.
    own: Option<Arc<OwnStream>>,
}

/// A number that nothing else has, for the handles of streams and the streams that a per-thread handle means. Those that were made first are
/// waited for first.
pub(super) fn next_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The stream that a per-thread handle means on one thread.
#[derive(Debug)]
struct OwnStream {
    /// See [`next_number`].
    number: usize,
    thread: ThreadId,
    /// The number of accesses to memory that the thread has announced. Only that thread changes this field and the
    /// next.
    announced: AtomicUsize,
    /// How many of them the thread has waited for.
    seen: AtomicUsize,
    /// The thread submits nothing more to it.
    ended: AtomicBool,
    /// Its key in the memory of its context; only its thread takes one. [`NO_KEY`] before its first access.
    key: AtomicU64,
    /// Where the key comes from; nowhere if no later call finds this stream again.
    keys: Option<Arc<Keys>>,
    /// In that case, the number of submissions of the handle with which it ends.
    last: usize,
}

/// The stream that a per-thread handle means on this thread, as long as calls can find it.
struct Found {
    /// Keeps the address of the handle from being reused.
    of: Weak<StreamInner>,
    own: Arc<OwnStream>,
}

impl Found {
    fn is_of(&self, stream: &CudaStream) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(&stream.inner))
    }
}

/// The stream of a thread that it used last, so that a warm launch finds it at once.
struct Last {
    /// The address of its handle; null if there is none.
    of: Cell<*const StreamInner>,
    /// In [`OWN`], which keeps it, as long as this is there.
    own: Cell<*const OwnStream>,
    key: Cell<u64>,
}

impl Last {
    const fn none() -> Self {
        Self { of: Cell::new(ptr::null()), own: Cell::new(ptr::null()), key: Cell::new(NO_KEY) }
    }

    fn set(&self, found: &Found) {
        self.of.set(found.of.as_ptr());
        self.own.set(Arc::as_ptr(&found.own));
        self.key.set(found.own.key());
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        LAST.with(|last| {
            if last.of.get() == self.of.as_ptr() {
                last.of.set(ptr::null());
            }
        });
        // Release: a thread that sees this also sees that all submissions have finished.
        self.own.ended.store(true, Ordering::Release);
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // No list has it any more, so no memory has its bit.
        if let Some(keys) = &self.keys {
            keys.release(*self.key.get_mut());
        }
    }
}

impl OwnStream {
    /// The stream that `stream` means on this thread.
    fn of(stream: &CudaStream) -> Arc<Self> {
        let found = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            if let Some(found) = own.iter().find(|found| found.is_of(stream)) {
                return found.own.clone();
            }
            // Removes those that no list holds any more: their handle may be gone.
            own.retain(|found| Arc::strong_count(&found.own) > 1);
            let new = Arc::new(Self::new(Some(stream.context().keys().clone()), 0));
            own.push(Found { of: Arc::downgrade(&stream.inner), own: new.clone() });
            new
        });
        // While the thread's locals are destroyed: a stream that no later call finds again, for a submission that is announced.
        let announced = || stream.queue().submissions.announced();
        found.unwrap_or_else(|_| Arc::new(Self::new(None, announced())))
    }

    fn new(keys: Option<Arc<Keys>>, last: usize) -> Self {
        let (announced, seen, ended) = Default::default();
        let (thread, key) = (thread::current().id(), AtomicU64::new(NO_KEY));
        Self { number: next_number(), thread, announced, seen, ended, key, keys, last }
    }

    /// Whether nothing more is submitted to it, and all that was has finished; `stream` is its handle. Once it has, it stays so: it may stand
    /// for others from then on.
    #[inline(never)]
    fn has_ended(&self, stream: &CudaStream) -> bool {
        // Acquire: all submissions of the thread have finished.
        if self.ended.load(Ordering::Acquire) {
            return true;
        }
        let has = self.keys.is_none() && stream.queue().submissions.have_finished(self.last);
        if has {
            self.ended.store(true, Ordering::Release);
        }
        has
    }

    fn key(&self) -> u64 {
        // Acquire: the stream that had this bit before has released it.
        self.key.load(Ordering::Acquire)
    }

    /// The same, after taking a free bit if it has none. To be called by its thread.
    #[inline(never)]
    fn claim_key(&self) -> u64 {
        if let (NO_KEY, Some(keys)) = (self.key(), &self.keys) {
            self.key.store(keys.claim(), Ordering::Release);
        }
        self.key()
    }

    /// Counts an access. To be called by its thread, before the submission has finished.
    fn announce(&self) {
        // Not `fetch_add`: only this thread changes it.
        self.announced.store(self.announced.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Whether `stream`, its handle, means it in later calls of this thread, and it stands for nothing else.
    #[inline(never)]
    fn is_handle_of(&self, stream: &CudaStream) -> bool {
        self.keys.is_some() && self.is_of_this_thread() && !self.has_ended(stream)
    }

    fn is_of_this_thread(&self) -> bool {
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

    /// The streams that per-thread handles mean on this thread.
    static OWN: RefCell<Vec<Found>> = const { RefCell::new(Vec::new()) };

    /// One of them.
    static LAST: Last = const { Last::none() };
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

impl CudaStream {
    /// Whether this handle means the stream of this thread that it used last, and a submission that was announced there may access memory
    /// of which `words` is the bitwise AND of the words, without waiting for anything. If so, the access is counted.
    #[inline(always)]
    pub(crate) fn is_ready_here(&self, words: impl FnOnce() -> u64) -> bool {
        LAST.with(|last| {
            if last.of.get() != Arc::as_ptr(&self.inner) {
                return false;
            }
            let key = last.key.get();
            let is_ready = words() & key == key;
            if is_ready {
                // SAFETY: `of` is not null, so `own` is that of an element of `OWN`, whose drop sets `of` to null. It is shared, and this
                // thread alone can drop that element.
                unsafe { &*last.own.get() }.announce();
            }
            is_ready
        })
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
            own.announce();
        }
    }

    /// Whether a submission that this thread has announced on a per-thread handle may access memory of which `words` is
    /// the bitwise AND of the words, without waiting for anything. If so, the access is counted.
    ///
    /// Not inlined, so that the warm path of other streams does not pay for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_ready(stream: &CudaStream, words: u64) -> bool {
        let is_ready = |found: &Found| {
            let key = found.own.key();
            let is_ready = words & key == key;
            if is_ready {
                found.own.announce();
                LAST.with(|last| last.set(found));
            }
            is_ready
        };
        let here = |own: &RefCell<Vec<Found>>| {
            own.try_borrow().ok()?.iter().find(|found| found.is_of(stream)).map(is_ready)
        };
        stream.is_per_thread() && matches!(OWN.try_with(here), Ok(Some(true)))
    }

    /// The stream, if its handle means it on this thread. Not if it has ended, as it may stand for others, nor that of a call while the locals of
    /// its thread are destroyed: the handle may mean another one at the next call.
    #[inline]
    pub(crate) fn handle(&self) -> Option<&CudaStream> {
        self.own.as_ref().is_none_or(|own| own.is_handle_of(&self.stream)).then_some(&self.stream)
    }

    /// A stream that this thread waits for before it gives back memory that was lent: one of its own, or one of this context that may stand for
    /// such a one, as the handle of both means the same stream here. A stream that is idle stands for no other.
    pub(crate) fn handle_of_loan(&self) -> Option<&CudaStream> {
        let may_stand_for_others = || self.has_ended() && !self.is_idle();
        self.handle_on_this_thread().or_else(|| may_stand_for_others().then_some(&self.stream))
    }

    /// The stream, unless its handle means another one on this thread because that is not the thread that made the access.
    fn handle_on_this_thread(&self) -> Option<&CudaStream> {
        self.own.as_ref().is_none_or(|own| own.is_of_this_thread()).then_some(&self.stream)
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
        self.own.as_ref().map_or_else(|| self.stream.queue().key(), |own| own.key())
    }

    #[inline(always)]
    fn claim_key(&self) -> u64 {
        self.own.as_ref().map_or_else(|| self.stream.claim_key(), |own| own.claim_key())
    }

    fn id(&self) -> usize {
        // A thread has one `OwnStream` for each handle.
        self.own.as_ref().map_or(self.stream.inner.number, |own| own.number)
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

    fn shares_stream(&self, other: &Self) -> bool {
        let is_it = self.stream.raw() == other.stream.raw() && self.stream.shares_context(&other.stream);
        is_it && self.handle().is_some() && other.handle().is_some()
    }

    fn has_seen_end_of(&self, announced: usize) -> bool {
        self.stream.has_seen_end_of(announced)
    }

    fn is_done(&self) -> bool {
        let _orders = Orders::begin();
        let Some(stream) = self.handle() else {
            // Another thread's stream cannot be queried, and waiting for the whole context would make readers wait for each
            // other. Work that is captured has not begun.
            return self.is_idle() || self.stream.capture().is_none() && !self.stream.is_unsettled();
        };
        // The user did not request this call, so it must not invalidate a capture of other code. An error is no
        // information.
        outside_captures(stream.context(), || stream.is_done()).unwrap_or(false)
    }

    fn has_ended(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.has_ended(&self.stream))
    }

    fn stand_in_for(&self, other: &Self) -> bool {
        // Who has ended without having waited for all never does: both are waited for with their context, unless the host has seen the end
        // of it. Counts once more, so that only a wait for the context that begins after this counts.
        let is_so = !self.is_idle() && self.stream.shares_context(&other.stream);
        if is_so {
            let queue = self.stream.queue();
            queue.announce(NO_KERNEL);
            queue.submissions.finish();
        }
        is_so
    }
}
