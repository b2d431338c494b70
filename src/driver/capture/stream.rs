//! Capturing streams, and what they must not do during the capture.
//!
//! A stream that a capture hands out carries its record: calls that would break the capture are rejected before they
//! reach the driver.

#![allow(unsafe_code)] // Calls of the driver with a stream that its handle keeps.

use cuda_driver_sys::CUstreamCaptureStatus;
use std::sync::Arc;

use super::Capture;
use crate::driver::event::{AnyEvent, EventRecordFlags, EventWaitFlags, Steady};
use crate::driver::own_lock::OwnGuard;
use crate::driver::stream::CudaStream;
use crate::error::{CaptureError, Error, ErrorKind, RefusedInCapture};
use crate::ordering::Refused;

/// Whether work submitted to a stream runs or is recorded (`CUstreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureStatus {
    /// Work runs.
    None,
    /// Work is recorded into a graph.
    Active,
    /// A call invalidated the capture; it must be ended.
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
    /// Whether work submitted to the stream is recorded instead of run.
    ///
    /// ```
    /// use cuda_launch::stream::CaptureStatus;
    /// use cuda_launch::CudaContext;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// assert_eq!(stream.capture_status()?, CaptureStatus::None);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuStreamIsCapturing`.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy stream while a stream that synchronises with it is being
    /// captured.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<CaptureStatus, Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        self.context().call(
            "cuStreamIsCapturing",
            || self.label(),
            // SAFETY: the stream lives as long as this handle (`StreamInner`), and a default one is that of the context
            // that `call` made current; `status` is a local, which outlives the call.
            |driver| unsafe { driver.cuStreamIsCapturing(self.raw(), &mut status) },
        )?;
        Ok(status.into())
    }

    /// Another handle of this stream, which gives its work to `capture`.
    #[cfg(feature = "graph")]
    pub(crate) fn capturing(&self, capture: Arc<Capture>) -> Self {
        // SAFETY: 1: the stream lives as long as this handle, and is of its context, or a special one; 2: it is not owned, and the result
        // has a copy of this handle; 3: work submitted through the result is recorded for `capture`; work submitted through this handle is
        // unaffected.
        unsafe { Self::wrap_of(self.context(), self.raw(), false, Some(capture), Some(self.clone())) }
    }

    /// What a thread holds while it gives the stream work, if that is captured.
    ///
    /// # Errors
    /// For `call`: this thread is just doing so, and runs code that the driver or a subscriber to its spans has called; or those of
    /// [`capture_is_open`](Self::capture_is_open).
    #[inline]
    pub(crate) fn turn(&self, call: &'static str) -> Result<Option<OwnGuard<'_, ()>>, Error> {
        self.capture().map_or(Ok(None), |capture| self.turn_of(capture, call).map(Some))
    }

    /// Not in every function that gives a stream work.
    #[cold]
    #[inline(never)]
    fn turn_of<'c>(&self, capture: &'c Capture, call: &'static str) -> Result<OwnGuard<'c, ()>, Error> {
        self.is_open_here(capture, call)?;
        capture.turn(call).map_err(|refused| self.refused(refused, call))
    }

    /// An error where the stream belongs to a capture that is over, or is not what this thread means by the handle.
    #[inline]
    pub(crate) fn capture_is_open(&self, call: &'static str) -> Result<(), Error> {
        self.capture().map_or(Ok(()), |capture| self.is_open_here(capture, call))
    }

    /// Not in every function that gives a stream work.
    #[cold]
    #[inline(never)]
    fn is_open_here(&self, capture: &Capture, call: &'static str) -> Result<(), Error> {
        if capture.has_ended() {
            return Err(self.refused(Refused::Ended, call));
        }
        self.is_meant_here(capture, call)
    }

    /// An error where the stream is not what this thread means by the handle.
    #[inline]
    fn is_meant(&self, call: &'static str) -> Result<(), Error> {
        self.capture().map_or(Ok(()), |capture| self.is_meant_here(capture, call))
    }

    /// Not in every function that records or waits for an event.
    #[cold]
    #[inline(never)]
    fn is_meant_here(&self, capture: &Capture, call: &'static str) -> Result<(), Error> {
        if !self.is_per_thread() || capture.began_here() {
            return Ok(());
        }
        let help = "the handle means another stream on each thread, and that of another one is captured: fork it there";
        Err(ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into())
    }

    /// The error of a stream of a capture that does not give it the turn.
    #[cold]
    pub(crate) fn refused(&self, refused: Refused<Error>, call: &'static str) -> Error {
        match refused {
            Refused::Ended => ErrorKind::from(CaptureError::Ended { call, stream: self.label() }).into(),
            Refused::Error(error) => error,
        }
    }

    /// An error unless this stream may wait for `event`: both are part of one capture, or of none. So it is as long as the result
    /// lives. The caller has the turn.
    pub(in crate::driver) fn may_wait<'e>(
        &self,
        event: &'e AnyEvent,
        flags: EventWaitFlags,
    ) -> Result<Steady<'e>, Error> {
        let call = "cuStreamWaitEvent";
        self.context().same_driver(event.context(), "the event", "the stream")?;
        if self.capture().is_some() && flags.contains(EventWaitFlags::EXTERNAL) {
            return Err(not_kept(call));
        }
        let steady = event.captured_by(call)?;
        self.is_of_capture(steady.capture())?;
        Ok(steady)
    }

    /// An error if this stream is not part of that capture, and so cannot wait for what is. The caller has the turn.
    pub(in crate::driver) fn is_of_capture(&self, capture: u64) -> Result<(), Error> {
        let call = "cuStreamWaitEvent";
        self.is_meant(call)?;
        if self.capture_id() == capture {
            return Ok(());
        }
        Err(ErrorKind::from(CaptureError::Isolated { call, stream: self.label() }).into())
    }

    /// An error unless events may be recorded on this stream with these flags. The caller has the turn.
    pub(in crate::driver) fn may_record(
        &self,
        call: &'static str,
        flags: EventRecordFlags,
    ) -> Result<(), Error> {
        self.is_meant(call)?;
        let external = self.capture().is_some() && flags.contains(EventRecordFlags::EXTERNAL);
        if external { Err(not_kept(call)) } else { Ok(()) }
    }

    /// The number of the capture that the stream is part of; 0 for none.
    pub(in crate::driver) fn capture_id(&self) -> u64 {
        self.capture().map_or(0, |capture| capture.id())
    }

    /// The stream in a message.
    pub(crate) fn label(&self) -> String {
        format!("stream {:p}", self.raw())
    }
}

/// A borrowed event cannot be part of a graph, which may run after the event was destroyed.
#[cold]
fn not_kept(call: &'static str) -> Error {
    let help = "capture into a graph of your own (`CudaGraph::capture_into`), and add the event to it as a node, which keeps it";
    ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into()
}
