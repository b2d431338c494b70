//! Streams and threads that capture: what they must not do meanwhile, and how to do it nevertheless.
//!
//! A stream that a capture hands out carries its record: calls that would break the capture are refused before the driver
//! sees them. A thread remembers what it captures, for calls that name no stream.

#![allow(unsafe_code)] // Calls of the driver with a live stream, or with the calling thread's own mode.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode, CUstreamCaptureStatus};
use std::cell::RefCell;
use std::sync::Arc;

use super::capture::Capture;
use super::context::CudaContext;
use super::event::{AnyEvent, EventRecordFlags, EventWaitFlags};
use super::stream::CudaStream;
use crate::error::{CaptureError, Error, ErrorKind, NotInCapture};

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

impl From<CUstreamCaptureStatus> for CaptureStatus {
    fn from(status: CUstreamCaptureStatus) -> Self {
        match status {
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Self::None,
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE => Self::Active,
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED => Self::Invalidated,
            CUstreamCaptureStatus(other) => Self::Other(other),
        }
    }
}

impl CudaStream {
    /// Whether work given to the stream is recorded instead of run.
    ///
    /// ```
    /// use cuda_launch::{CaptureStatus, CudaContext};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// assert_eq!(stream.capture_status()?, CaptureStatus::None);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuStreamIsCapturing`.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy stream while a stream that waits for it is captured.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<CaptureStatus, Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        self.context().call(
            "cuStreamIsCapturing",
            || self.label(),
            // SAFETY: the stream is live, `status` outlives the call.
            |driver| unsafe { driver.cuStreamIsCapturing(self.raw(), &mut status) },
        )?;
        Ok(status.into())
    }

    /// Another handle of this stream, which gives its work to `capture`.
    pub(crate) fn capturing(&self, capture: Arc<Capture>) -> Self {
        // Holds this handle, and so the stream, until the capture ends.
        capture.add_fork(self);
        Self::wrap(self.context(), self.raw(), false, Some(capture))
    }

    /// An error where the stream belongs to a capture that is over.
    #[inline]
    pub(crate) fn capture_is_open(&self, call: &'static str) -> Result<(), Error> {
        match self.capture() {
            Some(capture) if capture.has_ended() => {
                Err(ErrorKind::from(CaptureError::Ended { call, stream: self.label() }).into())
            }
            _ => Ok(()),
        }
    }

    /// An error unless this stream may wait for `event`: both are part of one capture, or of none.
    pub(super) fn may_wait(&self, event: &AnyEvent, flags: EventWaitFlags) -> Result<(), Error> {
        let call = "cuStreamWaitEvent";
        self.capture_is_open(call)?;
        if self.capture().is_some() && flags.contains(EventWaitFlags::EXTERNAL) {
            return Err(not_kept(call));
        }
        if self.capture_id() == event.captured_by() {
            return Ok(());
        }
        Err(ErrorKind::from(CaptureError::Isolated { call, stream: self.label() }).into())
    }

    /// An error unless events may be recorded on this stream with these flags.
    pub(super) fn may_record(&self, call: &'static str, flags: EventRecordFlags) -> Result<(), Error> {
        self.capture_is_open(call)?;
        let external = self.capture().is_some() && flags.contains(EventRecordFlags::EXTERNAL);
        if external { Err(not_kept(call)) } else { Ok(()) }
    }

    /// The number of the capture that the stream is part of; 0 for none.
    pub(super) fn capture_id(&self) -> u64 {
        self.capture().map_or(0, |capture| capture.id())
    }

    /// The stream in a message.
    pub(crate) fn label(&self) -> String {
        format!("stream {:p}", self.raw())
    }
}

/// A borrowed event cannot be part of a graph, which may run when the event is gone.
#[cold]
fn not_kept(call: &'static str) -> Error {
    let help = "capture into a graph of your own (`CudaGraph::capture_into`), and add the event to it as a node, which keeps it";
    ErrorKind::NotInCapture(NotInCapture { call, help }).into()
}

thread_local! {
    /// The streams that this thread captures, innermost last.
    static CAPTURING: RefCell<Vec<CudaStream>> = const { RefCell::new(Vec::new()) };
    /// What is to be done when the outermost capture is over.
    static LATER: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Notes that this thread captures `stream`, until [`leave`].
pub(crate) fn enter(stream: &CudaStream) {
    CAPTURING.with_borrow_mut(|streams| streams.push(stream.clone()));
}

/// Notes that this thread's innermost capture is over.
pub(crate) fn leave() {
    // Dropped and done outside the borrows.
    drop(CAPTURING.with_borrow_mut(Vec::pop));
    if !is_capturing() {
        LATER.take().into_iter().for_each(|end| end());
    }
}

/// Whether this thread captures a stream.
pub(crate) fn is_capturing() -> bool {
    // A thread that ends and has dropped the list captures nothing.
    CAPTURING.try_with(|streams| !streams.borrow().is_empty()).unwrap_or(false)
}

/// Does what ends an object's life when this thread's captures are over: it may wait for the device.
pub(crate) fn after_captures(end: impl FnOnce() + 'static) {
    LATER.with_borrow_mut(|later| later.push(Box::new(end)));
}

/// An error where this thread captures a stream of `context`: `call` waits for or frees all of it.
#[inline]
pub(crate) fn forbid_here(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    let ours = |streams: &RefCell<Vec<CudaStream>>| {
        streams.borrow().iter().any(|stream| stream.context().is_same(context))
    };
    if !CAPTURING.try_with(ours).unwrap_or(false) {
        return Ok(());
    }
    let help = "do it before or after the capture; inside, use memory that was allocated before";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// Runs `call` so that no capture of this thread is broken by it, where there is one: for calls that allocate memory.
pub(crate) fn despite_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    if is_capturing() { outside_captures(context, call) } else { call() }
}

/// Runs `call` so that no capture is broken by it: for calls that are no part of any captured work, such as asking for an
/// event that was recorded elsewhere, or freeing memory that nobody uses.
///
/// Driver call: `cuThreadExchangeStreamCaptureMode`, twice.
pub(crate) fn outside_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: `mode` outlives the call.
    let exchange = |mode: &mut _| unsafe { context.driver().cuThreadExchangeStreamCaptureMode(mode) };
    let changed = exchange(&mut mode) == CUresult::SUCCESS;
    let result = call();
    if changed {
        // The thread gets its own mode back; there is nothing to do about a refusal.
        let _ = exchange(&mut mode);
    }
    result
}
