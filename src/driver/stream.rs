//! Streams.

#![allow(unsafe_code)] // Calls of the driver with live handles: a created stream is destroyed only by `StreamInner`.

use bitflags::bitflags;
use cuda_driver_sys::{self as sys, CUresult, CUstream};
use std::sync::Arc;

use super::context::{CudaContext, context_mismatch};
use super::event::{AnyEvent, EventWaitFlags};
use crate::error::{Error, check};

bitflags! {
    /// How a stream is created (`CUstream_flags`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StreamFlags: u32 {
        /// The stream does not wait for the legacy default stream, nor that for it.
        const NON_BLOCKING = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// A queue of device work that runs in order.
///
/// Handles are cheap to clone. The stream is destroyed with its last handle, which does not wait: work already given to
/// it still runs.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// stream.synchronize()?;
/// assert!(stream.query()?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "CUstream")]
pub struct CudaStream {
    inner: Arc<StreamInner>,
}

#[derive(Debug)]
struct StreamInner {
    raw: CUstream,
    context: CudaContext,
    owned: bool,
}

// SAFETY: a CUstream may be used from every thread (driver API, "Stream Management"); the rest is Send and Sync.
unsafe impl Send for StreamInner {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for StreamInner {}

impl CudaStream {
    /// Creates a stream with these flags and priority (lower numbers go first; out-of-range values are clamped).
    ///
    /// Driver call: `cuStreamCreateWithPriority`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuStreamCreateWithPriority")]
    pub fn new(context: &CudaContext, flags: StreamFlags, priority: i32) -> Result<Self, Error> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current, `raw` outlives the call.
        let code = unsafe { context.driver().cuStreamCreateWithPriority(&mut raw, flags.bits(), priority) };
        check(code, "cuStreamCreateWithPriority", || format!("flags {flags:?}, priority {priority}"))?;
        Ok(Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: true }) })
    }

    pub(super) fn legacy(context: &CudaContext) -> Self {
        let raw = sys::CU_STREAM_LEGACY;
        Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: false }) }
    }

    /// Borrows a stream that other code made and will destroy.
    ///
    /// No driver call.
    ///
    /// # Safety
    /// 1. `raw` is a live stream of `context`'s context, or one of the driver's special handles.
    /// 2. It outlives every clone of the result and all work given to it through them.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUstream) -> Self {
        Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: false }) }
    }

    /// The context.
    #[inline]
    pub fn context(&self) -> &CudaContext {
        &self.inner.context
    }

    /// The raw stream, valid as long as a handle to it.
    #[inline]
    pub fn raw(&self) -> CUstream {
        self.inner.raw
    }

    /// Waits until all work given to the stream so far is done.
    ///
    /// Driver call: `cuStreamSynchronize`.
    ///
    /// # Errors
    /// The first fault of work of the context, which is sticky.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the stream is live.
        self.context().call("cuStreamSynchronize", String::new, |driver| unsafe {
            driver.cuStreamSynchronize(self.raw())
        })
    }

    /// Whether all work given to the stream so far is done.
    ///
    /// Driver call: `cuStreamQuery`.
    ///
    /// # Errors
    /// The first fault of work of the context, which is sticky.
    #[doc(alias = "cuStreamQuery")]
    pub fn query(&self) -> Result<bool, Error> {
        self.context().bind()?;
        // SAFETY: the stream is live.
        match unsafe { self.context().driver().cuStreamQuery(self.raw()) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check(code, "cuStreamQuery", String::new).map(|()| true),
        }
    }

    /// Makes work given to this stream from now on wait for `event`.
    ///
    /// The event may be of another context, and of any kind; it may be recorded anew, or dropped, as soon as this returns.
    /// Driver call: `cuStreamWaitEvent`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait(&self, event: &AnyEvent) -> Result<(), Error> {
        self.wait_with(event, EventWaitFlags::empty())
    }

    /// As [`wait`](Self::wait), with flags.
    ///
    /// Driver call: `cuStreamWaitEvent`.
    ///
    /// # Errors
    /// As [`wait`](Self::wait); `CUDA_ERROR_ILLEGAL_STATE` for [`EventWaitFlags::EXTERNAL`] outside of a capture.
    pub fn wait_with(&self, event: &AnyEvent, flags: EventWaitFlags) -> Result<(), Error> {
        // SAFETY: stream and event are live.
        self.context().call(
            "cuStreamWaitEvent",
            || format!("flags {flags:?}"),
            |driver| unsafe { driver.cuStreamWaitEvent(self.raw(), event.raw(), flags.bits()) },
        )
    }

    /// Makes work given to this stream from now on wait for what `other` has been given so far.
    ///
    /// Driver calls: `cuEventCreate`, `cuEventRecord`, `cuStreamWaitEvent`, `cuEventDestroy`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn join(&self, other: &CudaStream) -> Result<(), Error> {
        let event = other.context().new_event()?;
        event.record(other)?;
        self.wait(&event)
    }

    /// A new stream whose work waits for what this one has been given so far.
    ///
    /// Driver calls: those of [`CudaContext::new_stream`] and [`CudaStream::join`].
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn fork(&self) -> Result<CudaStream, Error> {
        let fork = self.context().new_stream()?;
        fork.join(self)?;
        Ok(fork)
    }

    /// Destroys the stream now if this is the last handle to it, and says what the driver answered.
    ///
    /// Driver call: `cuStreamDestroy`, for the last handle of a stream that this crate created.
    ///
    /// # Errors
    /// Whatever the driver answers; the handle is gone in any case.
    #[doc(alias = "cuStreamDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }

    /// An error unless `what`, of context `context`, may meet this stream in one call.
    #[inline]
    pub(crate) fn same_context(&self, context: &CudaContext, what: &str) -> Result<(), Error> {
        if context.is_same(self.context()) { Ok(()) } else { Err(context_mismatch(what, "the stream")) }
    }
}

impl StreamInner {
    fn destroy(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.owned) {
            return Ok(());
        }
        // Also where it cannot be bound: an error is told below.
        let _ = self.context.bind();
        // SAFETY: this crate made the stream, and no handle is left.
        check(unsafe { self.context.driver().cuStreamDestroy(self.raw) }, "cuStreamDestroy", String::new)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.destroy();
    }
}
