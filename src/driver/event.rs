//! Events.

#![allow(unsafe_code)] // Calls of the driver with live handles: an event is destroyed only by its one owner.

use bitflags::bitflags;
use cuda_driver_sys::{CUevent, CUresult};
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::CudaContext;
use super::stream::CudaStream;
use crate::error::{Error, ErrorKind, NotInCapture, check};

bitflags! {
    /// How an event is created (`CUevent_flags`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EventFlags: u32 {
        /// A thread that waits for the event sleeps instead of spinning.
        const BLOCKING_SYNC = 1;
        /// The event keeps no time: cheaper, and `elapsed_ms` is an error.
        const DISABLE_TIMING = 2;
        /// The event can be shared with another process; needs `DISABLE_TIMING`.
        const INTERPROCESS = 4;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// A mark in a stream that others can wait for, and that keeps the time.
///
/// ```
/// use cuda_launch::{CudaContext, CudaEvent, EventFlags};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let (start, end) = (CudaEvent::new(&ctx, EventFlags::empty())?, CudaEvent::new(&ctx, EventFlags::empty())?);
/// start.record(&stream)?;
/// end.record(&stream)?;
/// end.synchronize()?;
/// assert!(start.elapsed_ms(&end)? >= 0.0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUevent")]
pub struct CudaEvent {
    raw: CUevent,
    context: CudaContext,
    /// The capture it was last recorded in; 0 for none.
    captured_by: AtomicU64,
}

// SAFETY: a CUevent may be used from every thread (driver API, "Event Management").
unsafe impl Send for CudaEvent {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Creates an event that counts as completed until it is recorded.
    ///
    /// Driver call: `cuEventCreate`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuEventCreate")]
    pub fn new(context: &CudaContext, flags: EventFlags) -> Result<Self, Error> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current, `raw` outlives the call.
        let code = unsafe { context.driver().cuEventCreate(&mut raw, flags.bits()) };
        check(code, "cuEventCreate", || format!("flags {flags:?}"))?;
        Ok(Self { raw, context: context.clone(), captured_by: AtomicU64::new(0) })
    }

    /// Marks the work given to `stream` so far; an earlier mark is forgotten.
    ///
    /// Driver call: `cuEventRecord`.
    ///
    /// # Errors
    /// Event and stream are of two contexts, or whatever the driver answers.
    #[doc(alias = "cuEventRecord")]
    pub fn record(&self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(&self.context, "the event")?;
        stream.capture_is_open("cuEventRecord")?;
        self.captured_by.store(stream.capture().map_or(0, |capture| capture.id()), Ordering::Relaxed);
        self.context.bind()?;
        // SAFETY: event and stream are live and of one context.
        check(
            unsafe { self.context.driver().cuEventRecord(self.raw, stream.raw()) },
            "cuEventRecord",
            String::new,
        )
    }

    /// The capture it was last recorded in; 0 for none.
    pub(crate) fn captured_by(&self) -> u64 {
        self.captured_by.load(Ordering::Relaxed)
    }

    /// An error where the event marks work that is recorded, not run.
    fn marks_work(&self, call: &'static str) -> Result<(), Error> {
        if self.captured_by() == 0 {
            return Ok(());
        }
        let help =
            "it was last recorded in a capture, where work does not run: record it on a stream outside";
        Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
    }

    /// Waits until the marked work is done.
    ///
    /// Driver call: `cuEventSynchronize`.
    ///
    /// # Errors
    /// The first fault of work of the context, which is sticky.
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.marks_work("cuEventSynchronize")?;
        self.context.bind()?;
        // SAFETY: the event is live.
        check(
            unsafe { self.context.driver().cuEventSynchronize(self.raw) },
            "cuEventSynchronize",
            String::new,
        )
    }

    /// Whether the marked work is done; true for an event that was never recorded.
    ///
    /// Driver call: `cuEventQuery`.
    ///
    /// # Errors
    /// The first fault of work of the context, which is sticky.
    #[doc(alias = "cuEventQuery")]
    pub fn query(&self) -> Result<bool, Error> {
        self.marks_work("cuEventQuery")?;
        self.context.bind()?;
        // SAFETY: the event is live.
        match unsafe { self.context.driver().cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check(code, "cuEventQuery", String::new).map(|()| true),
        }
    }

    /// Milliseconds of device time between this mark and `end`; both must be recorded and done.
    ///
    /// Driver call: `cuEventElapsedTime_v2`, in drivers since CUDA 12.8.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` where one was not recorded or keeps no time, `CUDA_ERROR_NOT_READY` where one is not
    /// done, `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` on drivers before 12.8.
    #[doc(alias = "cuEventElapsedTime")]
    pub fn elapsed_ms(&self, end: &CudaEvent) -> Result<f32, Error> {
        self.context.bind()?;
        let mut ms = 0.0;
        let driver = self.context.driver();
        // SAFETY: both events are live, `ms` outlives the call.
        let code = unsafe { driver.cuEventElapsedTime(&mut ms, self.raw, end.raw) };
        check(code, "cuEventElapsedTime", String::new)?;
        Ok(ms)
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        &self.context
    }

    /// The raw event, valid as long as this value.
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// Destroys the event now and says what the driver answered.
    ///
    /// Driver call: `cuEventDestroy`.
    ///
    /// # Errors
    /// Whatever the driver answers; the event is gone in any case.
    #[doc(alias = "cuEventDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.destroy()
    }

    fn destroy(&mut self) -> Result<(), Error> {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        if raw.is_null() {
            return Ok(());
        }
        // Also where it cannot be bound: an error is told below.
        let _ = self.context.bind();
        // SAFETY: this value owned the event, and it is used no more.
        check(unsafe { self.context.driver().cuEventDestroy(raw) }, "cuEventDestroy", String::new)
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // Nobody can be told here; `close` tells.
        let _ = self.destroy();
    }
}
