//! Streams.

#![allow(unsafe_code)] // Calls of the driver with live handles: a created stream is destroyed only by `StreamInner`.

pub(in crate::driver) mod info;
pub(in crate::driver) mod patience;
pub(in crate::driver) mod queue;
pub(in crate::driver) mod sync;
pub(in crate::driver) mod thread;
pub(in crate::driver) mod wait;

use cuda_driver_sys::{self as sys, CUresult, CUstream, Driver};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use self::queue::{Apart, StreamQueue, Unattributed};
use super::capture::{Capture, InCapture};
use super::context::CudaContext;
use super::event::CudaEvent;
use super::fault::Launches;
use super::host_call;
use crate::error::{Error, ErrorKind, RefusedInCapture};
use crate::flags::flags;
use crate::ordering::{NO_KEY, Submissions};

flags! {
    /// How a stream is created (`CUstream_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct StreamFlags: u32 {
        /// The stream does not synchronise with the legacy default stream.
        const NON_BLOCKING = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// A queue of device work that runs in order.
///
/// Handles are cheap to clone. The stream is destroyed with its last handle, which does not wait: work already
/// submitted to it still runs.
///
/// Streams run concurrently. Work that uses a buffer waits for earlier work on it, on whichever stream that was:
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let (first, second) = (ctx.new_stream()?, ctx.new_stream()?);
/// let mut x = DeviceBuffer::<u32>::zeroed(&first, 1000)?;
/// x.view_mut().fill(&first, 7)?; // does not wait
/// assert_eq!(x.to_host_vec(&second)?, [7; 1000]); // runs after the fill
/// first.synchronize()?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "CUstream")]
pub struct CudaStream {
    inner: Arc<StreamInner>,
}

/// What all handles of a stream share. The stream lives as long as this value: it is one of the driver's special streams, which are never
/// destroyed; or this value owns it and destroys it when dropped; or `_of` owns it; or the caller of `from_raw` promised it, by duty 2
/// there.
pub(super) struct StreamInner {
    context: CudaContext,
    owned: bool,
    /// A number that no other handle has: see [`next_number`](thread::next_number).
    number: usize,
    /// The capture to which this handle submits work. Other handles of the same stream have their own.
    capture: InCapture,
    /// The handle that this one was made from, if that one owns the stream.
    _of: Option<CudaStream>,
    queue: StreamQueue,
    /// The number of submissions that the host has seen finished.
    settled: AtomicUsize,
    /// The number of marks in the stream that have not been dropped.
    #[cfg(feature = "async")]
    marks: std::sync::atomic::AtomicUsize,
    /// Recorded where another stream must wait for this one. A wait means the record before it, or a later one of the same
    /// stream, so one event serves all. Not used for a handle that means a different stream on every thread.
    mark: OnceLock<CudaEvent>,
}

// SAFETY: any thread may use a CUstream: of the driver's objects, its documentation excludes only graphs from this
// ("Graph object thread safety"). The rest is Send and Sync.
unsafe impl Send for StreamInner {}
// SAFETY: as above; what is changed after construction is atomic, behind a lock, or in a `OnceLock`.
unsafe impl Sync for StreamInner {}

impl CudaStream {
    /// Creates a stream with these flags and priority (lower numbers go first; out-of-range values are clamped).
    ///
    /// Driver call: `cuStreamCreateWithPriority`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaStream};
    /// use cuda_launch::stream::StreamFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// let urgent = CudaStream::new(&ctx, StreamFlags::NON_BLOCKING, ctx.stream_priorities()?.greatest)?;
    /// assert!(urgent.priority()? <= 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuStreamCreateWithPriority")]
    pub fn new(context: &CudaContext, flags: StreamFlags, priority: i32) -> Result<Self, Error> {
        Self::made_for(context, flags, priority, None)
    }

    /// Like [`CudaStream::new`], for a capture.
    pub(crate) fn made_for(
        context: &CudaContext,
        flags: StreamFlags,
        priority: i32,
        capture: InCapture,
    ) -> Result<Self, Error> {
        let asked = || format!("flags {flags:?}, priority {priority}");
        context.make(
            "cuStreamCreateWithPriority",
            asked,
            // SAFETY: `make` made the context current; the driver checks flags and priority; `raw` outlives the call.
            |driver, raw| unsafe { driver.cuStreamCreateWithPriority(raw, flags.bits(), priority) },
            // SAFETY: 1: the stream was just created, in this context; 2: no other code has its handle; 3: so it is not captured,
            // except for `capture`.
            |raw| unsafe { Self::wrap(context, raw, true, capture) },
        )
    }

    /// The handle of a live stream.
    pub(super) fn of(inner: Arc<StreamInner>) -> Self {
        Self { inner }
    }

    pub(super) fn legacy(context: &CudaContext) -> Self {
        // SAFETY: 1, 2: a special handle, which is not owned and is never destroyed; 3: the driver does not capture that
        // stream.
        unsafe { Self::wrap(context, sys::CU_STREAM_LEGACY, false, None) }
    }

    /// A handle for `raw`; the last clone destroys it if it is `owned`.
    ///
    /// # Safety
    /// 1. `raw` is a live stream of `context`'s context, or, if it is not `owned`, one of the driver's special handles.
    /// 2. If it is `owned`, nothing else destroys it. Otherwise it lives as duty 2 of [`CudaStream::from_raw`] says, or is a special
    ///    handle.
    /// 3. If it is being captured, the capture is `capture`, or duty 3 of [`CudaStream::from_raw`] is upheld.
    pub(super) unsafe fn wrap(context: &CudaContext, raw: CUstream, owned: bool, capture: InCapture) -> Self {
        // SAFETY: 1-3: the caller's duties 1 to 3.
        unsafe { Self::wrap_of(context, raw, owned, capture, None) }
    }

    /// The same for a stream that `of` owns.
    ///
    /// # Safety
    /// 1. As duty 1 of [`CudaStream::wrap`].
    /// 2. As duty 2 of [`CudaStream::wrap`], unless `of` is a handle of the stream, which the result does not own.
    /// 3. As duty 3 of [`CudaStream::wrap`].
    pub(super) unsafe fn wrap_of(
        context: &CudaContext,
        raw: CUstream,
        owned: bool,
        capture: InCapture,
        of: Option<CudaStream>,
    ) -> Self {
        let number = thread::next_number();
        // In a capture every launch takes the cold path, which records what the launch uses.
        let warm = if capture.is_some() { 0 } else { context.owner() };
        let inner = Arc::new(StreamInner {
            context: context.clone(),
            owned,
            number,
            capture,
            _of: of,
            queue: StreamQueue {
                handle: Unattributed { raw, attributes: std::ptr::null_mut() },
                warm: AtomicU64::new(warm),
                key: AtomicU64::new(NO_KEY),
                submissions: Apart::default(),
                graphs: Submissions::default(),
                launches: Launches::default(),
            },
            settled: AtomicUsize::new(0),
            #[cfg(feature = "async")]
            marks: Default::default(),
            mark: OnceLock::new(),
        });
        inner.context.fault().watch(Arc::downgrade(&inner));
        let stream = Self { inner };
        // After the line above: a thread that marks the context either finds the stream in the list, or has marked the
        // context before this check.
        if context.is_green_beside() {
            stream.needs_its_context();
        }
        stream
    }

    /// Borrows a stream that other code created and will destroy.
    ///
    /// No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaStream};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let raw = stream.raw(); // or the stream of another library
    /// // SAFETY: 1: `raw` is the handle of `stream`, a stream of `ctx`; 2: `stream` lives longer, and gets no work; 3: nothing
    /// // captures it.
    /// let borrowed = unsafe { CudaStream::from_raw(&ctx, raw) };
    /// borrowed.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. `raw` is a live stream of `context`'s context, or one of the driver's special handles.
    /// 2. It outlives every clone of the result, all work submitted through them, and the buffers that this work uses,
    ///    which remember the stream.
    /// 3. If other code or another handle captures it, work submitted to it here in the meantime uses only what lives as
    ///    long as the graph and whatever is instantiated from it, nothing relies on that work being done before the graph
    ///    is launched, and no other thread uses the capture while one uses the result.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUstream) -> Self {
        // SAFETY: 1-3: the caller's duties 1 to 3; it is not owned.
        unsafe { Self::wrap(context, raw, false, None) }
    }

    /// Takes ownership of a stream that other code created: it is destroyed with the last handle. No driver call.
    ///
    /// # Safety
    /// 1. `raw` is a live stream of `context`'s context, and not one of the driver's special handles.
    /// 2. Nothing else destroys it.
    /// 3. As duty 3 of [`CudaStream::from_raw`].
    pub unsafe fn from_raw_owned(context: &CudaContext, raw: CUstream) -> Self {
        // SAFETY: 1-3: the caller's duties 1 to 3.
        unsafe { Self::wrap(context, raw, true, None) }
    }

    /// Releases ownership of the stream: the caller destroys it, by `cuStreamDestroy` or
    /// [`CudaStream::from_raw_owned`]. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaStream};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// if let Ok(raw) = stream.into_raw() {
    ///     // SAFETY: 1: `new_stream` made it in `ctx`; 2: `into_raw` has just given it up; 3: nobody captures it.
    ///     let stream = unsafe { CudaStream::from_raw_owned(&ctx, raw) };
    ///     stream.synchronize()?;
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the handle if it is not the last one: a buffer that the stream accessed last also holds a handle.
    pub fn into_raw(self) -> Result<CUstream, Self> {
        let mut inner = Arc::try_unwrap(self.inner).map_err(|inner| Self { inner })?;
        inner.owned = false;
        Ok(inner.queue.handle.raw)
    }

    /// The context.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// assert_eq!(stream.context().ordinal(), ctx.ordinal());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[inline]
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// The raw stream, valid as long as a handle to it lives.
    #[inline]
    pub fn raw(&self) -> CUstream {
        self.inner.queue.handle.raw
    }

    /// Destroys the stream now if this is the last handle to it, and reports any error.
    ///
    /// Driver call: `cuStreamDestroy`, for the last handle of a stream that this crate created.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// stream.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    #[doc(alias = "cuStreamDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }

    /// A value that no other stream has, as long as a handle of this one lives.
    #[inline(always)]
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// Its key in the memory of its context; takes a free bit if there is one. A handle that means a different stream
    /// on every thread gets none (each of those streams has its own), and neither does a handle that captures.
    pub(super) fn claim_key(&self) -> u64 {
        let key = &self.queue().key;
        if self.queue().key() == NO_KEY && !self.is_per_thread() && self.inner.capture.is_none() {
            let claimed = self.context().keys().claim();
            if key.compare_exchange(NO_KEY, claimed, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                // Another thread was first.
                self.context().keys().release(claimed);
            }
        }
        self.queue().key()
    }

    /// Its queue of submissions.
    #[inline(always)]
    pub(crate) fn queue(&self) -> &StreamQueue {
        &self.inner.queue
    }

    /// The number of submissions that the driver has accepted so far, to be passed to [`settle`](Self::settle) after the
    /// host has waited.
    pub(super) fn taken(&self) -> usize {
        self.inner.taken()
    }

    /// Records that the host has seen the end of the first `taken` submissions, as far as they run on the stream that the
    /// handle means on this thread.
    pub(super) fn settle(&self, taken: usize) {
        match self.is_per_thread() {
            // A wait for this thread's stream says nothing about those of other threads.
            true => self.inner.queue.launches.settle(taken, self.inner.announced()),
            false => self.inner.settle(taken),
        }
    }

    /// Whether some work submitted to it, on any thread, has not been seen to end by the host.
    pub(super) fn is_unsettled(&self) -> bool {
        self.inner.is_unsettled()
    }

    /// A number that no other stream of this crate has; 0 for a stream that it did not make.
    pub(super) fn serial(&self) -> usize {
        if self.inner.owned { self.inner.number } else { 0 }
    }

    /// Whether the handle identifies its stream regardless of the current context; the handles of the default streams
    /// mean a stream of the current context.
    #[inline]
    pub(crate) fn is_explicit(&self) -> bool {
        let raw = self.inner.queue.handle.raw;
        !raw.is_null() && raw != sys::CU_STREAM_LEGACY && raw != sys::CU_STREAM_PER_THREAD
    }

    /// From now on a launch on it makes its context current first, if the driver needs that to know which stream is meant.
    pub(super) fn needs_its_context(&self) {
        if !self.is_explicit() {
            self.inner.queue.warm.store(0, Ordering::Relaxed);
        }
    }

    /// Makes a driver call that takes this handle, which identifies the context.
    #[inline]
    pub(crate) fn call(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnMut(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.context().call_on(self.is_explicit(), name, asked, call)
    }

    /// The same for a call that creates an object, like [`CudaContext::make`].
    #[inline]
    pub(crate) fn make<H: Default, T>(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnMut(&Driver, &mut H) -> CUresult,
        own: impl FnOnce(H) -> T,
    ) -> Result<T, Error> {
        self.context().make_on(self.is_explicit(), name, asked, call, own)
    }

    /// The same for freeing memory in stream order.
    pub(crate) fn free(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl Fn(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        match self.is_explicit() {
            true => self.context().free_by_handle(name, asked, call),
            false => self.context().give_back(name, asked, call),
        }
    }

    /// The same where nothing can stand in the way; otherwise it returns `false`, having done nothing. A fault is remembered; any other error
    /// is nobody's.
    #[inline]
    pub(crate) fn free_at_once(&self, name: &'static str, call: impl Fn(&Driver) -> CUresult) -> bool {
        self.is_explicit() && self.context().free_at_once(name, call)
    }

    /// Whether the host has seen the end of the first `announced` submissions.
    pub(super) fn has_seen_end_of(&self, announced: usize) -> bool {
        self.inner.capture.is_none() && self.inner.settled() >= announced
    }

    /// Whether the handle means another stream on every thread.
    pub(crate) fn is_per_thread(&self) -> bool {
        self.inner.queue.handle.raw == sys::CU_STREAM_PER_THREAD
    }

    /// Whether both are streams of one context.
    pub(super) fn shares_context(&self, other: &Self) -> bool {
        self.context().is_same(other.context())
    }

    /// The capture of this handle, for another one.
    pub(super) fn in_capture(&self) -> InCapture {
        self.inner.capture.clone()
    }

    /// The capture that work submitted to this handle becomes part of.
    #[inline]
    pub(crate) fn capture(&self) -> Option<&Arc<Capture>> {
        #[cfg(feature = "graph")]
        return self.inner.capture.as_ref();
        #[cfg(not(feature = "graph"))]
        return None;
    }

    /// Releases the handle. If it was the last one, returns the value to be dropped.
    #[cfg(feature = "async")]
    pub(super) fn into_last(self) -> Option<Box<dyn std::any::Any + Send>> {
        Arc::into_inner(self.inner).map(|inner| Box::new(inner) as _)
    }

    /// The number of live marks in it.
    #[cfg(feature = "async")]
    pub(in crate::driver) fn marks(&self) -> &std::sync::atomic::AtomicUsize {
        &self.inner.marks
    }

    /// An error if this handle captures, for calls that would invalidate the capture or that cannot be deferred until
    /// the graph runs.
    pub(crate) fn refuse_in_capture(&self, call: &'static str) -> Result<(), Error> {
        if self.inner.capture.is_none() {
            return Ok(());
        }
        self.capture_is_open(call)?;
        let help = "do it before or after the capture; inside, use memory that lives on, such as device or pinned buffers";
        Err(ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into())
    }

    /// An error unless `what`, which belongs to `context`, may be used together with this stream in one call.
    #[inline]
    pub(crate) fn same_context(&self, context: &CudaContext, what: &str) -> Result<(), Error> {
        self.context().same_context(context, what, "the stream")
    }
}

impl StreamInner {
    pub(super) fn raw(&self) -> CUstream {
        self.queue.handle.raw
    }

    fn announced(&self) -> usize {
        self.queue.submissions.announced()
    }

    /// Without those that are only announced: a wait that begins now may end before the driver accepts them.
    pub(super) fn taken(&self) -> usize {
        self.queue.submissions.finished()
    }

    pub(super) fn settle(&self, taken: usize) {
        self.queue.launches.settle(taken, self.announced());
        // Release, paired with the Acquire below: a thread that sees this value submits its work after the wait that
        // established it.
        self.settled.fetch_max(taken, Ordering::Release);
    }

    fn settled(&self) -> usize {
        self.settled.load(Ordering::Acquire)
    }

    /// Whether some work submitted to it has not been seen to end by the host.
    pub(super) fn is_unsettled(&self) -> bool {
        self.capture.is_none() && self.announced() > self.settled()
    }

    /// The numbers of the kernels that may still be running, the oldest first, and whether there may be more before them.
    pub(super) fn pending_kernels(&self) -> (Vec<u32>, bool) {
        self.queue.launches.pending(self.announced())
    }

    fn destroy(&mut self) -> Result<(), Error> {
        if !self.owned {
            return Ok(());
        }
        // Still owned: the drop that follows defers it.
        host_call::refuse("cuStreamDestroy")?;
        self.owned = false;
        // SAFETY: `owned` was true and is false from now on: this crate created the stream, or took it over by `from_raw_owned`, and
        // destroys it once. No handle is left, because the value that they share is being dropped; the driver completes work that was
        // submitted to it.
        let destroy = |driver: &Driver| unsafe { driver.cuStreamDestroy(self.queue.handle.raw) };
        self.context.give_back_by_handle("cuStreamDestroy", destroy)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        let key = self.queue.key();
        if key != NO_KEY {
            self.context.keys().release(key);
        }
        if self.is_unsettled() {
            self.context.lose_work();
        }
        self.context.fault().unwatch();
        if self.owned && host_call::is_running() {
            self.owned = false;
            // SAFETY: 1: this value owned the stream, which is live and belongs to this context; 2: it no longer does, as `owned` now
            // says, and no handle is left; 3: so no work is submitted to it.
            let rest = unsafe { CudaStream::wrap(&self.context, self.queue.handle.raw, true, None) };
            return host_call::outside(Box::new(move || drop(rest)));
        }
        // `drop` cannot report the error; `close` does.
        let _ = self.destroy();
    }
}
