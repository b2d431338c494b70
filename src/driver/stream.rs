//! Streams.

#![allow(unsafe_code)] // Calls of the driver with live handles: a created stream is destroyed only by `StreamInner`.

use bitflags::bitflags;
use cuda_driver_sys::{self as sys, CUresult, CUstream};
use std::sync::Arc;

use super::capture::Capture;
use super::context::{CudaContext, context_mismatch};
use super::event::{CudaEvent, EventFlags};
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
    /// The capture that this stream was made for.
    capture: Option<Arc<Capture>>,
}

/// Whether work given to a stream runs or is recorded (`CUstreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureStatus {
    /// Work runs.
    None,
    /// Work is recorded into a graph.
    Active,
    /// A call broke the capture; it must be ended.
    Invalidated,
    /// A status that this crate does not know.
    Other(u32),
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
        Self::made_for(context, flags, priority, None)
    }

    /// As [`CudaStream::new`], for a capture.
    pub(crate) fn made_for(
        context: &CudaContext,
        flags: StreamFlags,
        priority: i32,
        capture: Option<Arc<Capture>>,
    ) -> Result<Self, Error> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current, `raw` outlives the call.
        let code = unsafe { context.driver().cuStreamCreateWithPriority(&mut raw, flags.bits(), priority) };
        check(code, "cuStreamCreateWithPriority", || format!("flags {flags:?}, priority {priority}"))?;
        Ok(Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: true, capture }) })
    }

    pub(super) fn legacy(context: &CudaContext) -> Self {
        let raw = sys::CU_STREAM_LEGACY;
        Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: false, capture: None }) }
    }

    /// Borrows a stream that other code made and will destroy.
    ///
    /// No driver call.
    ///
    /// # Safety
    /// 1. `raw` is a live stream of `context`'s context, or one of the driver's special handles.
    /// 2. It outlives every clone of the result and all work given to it through them.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUstream) -> Self {
        Self { inner: Arc::new(StreamInner { raw, context: context.clone(), owned: false, capture: None }) }
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

    /// The capture that this stream was made for, if it was.
    #[inline(always)]
    pub(crate) fn capture(&self) -> Option<&Arc<Capture>> {
        self.inner.capture.as_ref()
    }

    /// Whether work given to the stream is recorded instead of run.
    ///
    /// Driver call: `cuStreamIsCapturing`.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy stream while a stream that waits for it is captured.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<CaptureStatus, Error> {
        use sys::CUstreamCaptureStatus as S;
        let mut status = S::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is live, `status` outlives the call.
        self.context().call("cuStreamIsCapturing", || self.label(), |driver| unsafe {
            driver.cuStreamIsCapturing(self.raw(), &mut status)
        })?;
        Ok(match status {
            S::CU_STREAM_CAPTURE_STATUS_NONE => CaptureStatus::None,
            S::CU_STREAM_CAPTURE_STATUS_ACTIVE => CaptureStatus::Active,
            S::CU_STREAM_CAPTURE_STATUS_INVALIDATED => CaptureStatus::Invalidated,
            S(other) => CaptureStatus::Other(other),
        })
    }

    /// Waits until all work given to the stream so far is done.
    ///
    /// Driver call: `cuStreamSynchronize`.
    ///
    /// # Errors
    /// The first fault of work of the context, which is sticky.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.not_in_capture("cuStreamSynchronize")?;
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
        self.not_in_capture("cuStreamQuery")?;
        self.context().bind()?;
        // SAFETY: the stream is live.
        match unsafe { self.context().driver().cuStreamQuery(self.raw()) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check(code, "cuStreamQuery", String::new).map(|()| true),
        }
    }

    /// Makes work given to this stream from now on wait for `event`.
    ///
    /// The event may be of another context. Driver call: `cuStreamWaitEvent`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait(&self, event: &CudaEvent) -> Result<(), Error> {
        self.same_capture(event.captured_by(), "cuStreamWaitEvent")?;
        // SAFETY: stream and event are live; 0 is the default wait.
        self.context().call("cuStreamWaitEvent", String::new, |driver| unsafe {
            driver.cuStreamWaitEvent(self.raw(), event.raw(), 0)
        })
    }

    /// Makes work given to this stream from now on wait for what `other` has been given so far.
    ///
    /// Driver calls: `cuEventCreate`, `cuEventRecord`, `cuStreamWaitEvent`, `cuEventDestroy`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn join(&self, other: &CudaStream) -> Result<(), Error> {
        let event = CudaEvent::new(other.context(), EventFlags::DISABLE_TIMING)?;
        event.record(other)?;
        self.wait(&event)
    }

    /// A new stream whose work waits for what this one has been given so far.
    ///
    /// The fork of a stream that is being captured is part of the capture, and joined at its end if it was not before.
    ///
    /// Driver calls: those of [`CudaContext::new_stream`] and [`CudaStream::join`].
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn fork(&self) -> Result<CudaStream, Error> {
        self.capture_is_open("cuStreamWaitEvent")?;
        let fork = Self::made_for(self.context(), StreamFlags::NON_BLOCKING, 0, self.capture().cloned())?;
        fork.join(self)?;
        if let Some(capture) = self.capture() {
            capture.captured().forks.push(fork.clone());
        }
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
