//! Events that record time.

#![allow(unsafe_code)] // Calls of the driver with live handles.

use cuda_driver_sys::{CUevent, CUresult};
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{AnyEvent, DISABLE_TIMING, EventFlags, INTERPROCESS};
use crate::driver::context::CudaContext;
use crate::driver::stream::CudaStream;
use crate::error::{Error, ErrorKind, EventError};

/// A marker in a stream that records the device time at which it is reached.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let (start, end) = (ctx.new_timing_event()?, ctx.new_timing_event()?);
/// start.record(&stream)?;
/// end.record(&stream)?;
/// end.synchronize()?;
/// assert!(start.elapsed_ms(&end)? >= 0.0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "CUevent")]
pub struct TimingEvent(AnyEvent);

impl TimingEvent {
    /// Creates an event that counts as done until it is recorded.
    ///
    /// Driver call: `cuEventCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::event::{EventFlags, TimingEvent};
    /// # let ctx = CudaContext::new(0)?;
    /// let start = TimingEvent::new(&ctx, EventFlags::BLOCKING_SYNC)?;
    /// assert!(start.query()?, "nothing was recorded");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuEventCreate")]
    pub fn new(context: &CudaContext, flags: EventFlags) -> Result<Self, Error> {
        AnyEvent::create(context, flags.bits() & !(INTERPROCESS | DISABLE_TIMING)).map(Self)
    }

    /// Borrows an event that other code created and will destroy. No driver call.
    ///
    /// # Safety
    /// 1. `raw` is a live event of `context`'s context, created without `CU_EVENT_DISABLE_TIMING`.
    /// 2. It outlives the result.
    pub unsafe fn from_raw(context: &CudaContext, raw: CUevent) -> Self {
        // SAFETY: 1: the caller's duty 1; 2: it is not owned, and outlives the result by the caller's duty 2; graphs take a share in a
        // `CudaEvent` alone.
        Self(unsafe { AnyEvent::wrap(context, raw, false) })
    }

    /// Takes ownership of an event that other code created: it is destroyed with the result. No driver call.
    ///
    /// # Safety
    /// 1. As duty 1 of [`TimingEvent::from_raw`].
    /// 2. Nothing else destroys it.
    pub unsafe fn from_raw_owned(context: &CudaContext, raw: CUevent) -> Self {
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        Self(unsafe { AnyEvent::wrap(context, raw, true) })
    }

    /// Releases ownership of the event: the caller destroys it, by `cuEventDestroy` or [`TimingEvent::from_raw_owned`].
    /// No driver call.
    pub fn into_raw(self) -> CUevent {
        self.0.release()
    }

    /// Milliseconds of device time from this event to `end`; negative if `end` came first.
    ///
    /// The resolution is about half a microsecond. Driver call: `cuEventElapsedTime`; and `cuEventQuery`, to name the
    /// event that is not done.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let (start, end) = (ctx.new_timing_event()?, ctx.new_timing_event()?);
    /// start.record(&stream)?;
    /// let zeros = DeviceBuffer::<u8>::zeroed(&stream, 1 << 20)?;
    /// end.record(&stream)?;
    /// end.synchronize()?;
    /// println!("{} bytes in {} ms", zeros.len(), start.elapsed_ms(&end)?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`EventError`]: one of the two was never recorded, or its work is not done yet. Also if the events belong to
    /// different contexts, or for the first fault of work in the context, which is sticky.
    #[doc(alias = "cuEventElapsedTime")]
    pub fn elapsed_ms(&self, end: &TimingEvent) -> Result<f32, Error> {
        const CALL: &str = "cuEventElapsedTime";
        self.context().same_context(end.context(), "the end event", "the start event")?;
        self.context().enter(CALL)?;
        let mut ms = 0.0;
        // SAFETY: both events live as long as their handles (`AnyEvent::raw`), and were compared to be of one context; `ms` is a local,
        // which outlives the call.
        match unsafe { self.context().driver().cuEventElapsedTime(&mut ms, self.raw(), end.raw()) } {
            CUresult::SUCCESS => Ok(ms),
            CUresult::CUDA_ERROR_NOT_READY => Err(self.not_ready(end)),
            CUresult::CUDA_ERROR_INVALID_HANDLE if self.is_fresh() => Err(not_recorded(START)),
            CUresult::CUDA_ERROR_INVALID_HANDLE if end.is_fresh() => Err(not_recorded(END)),
            code => self.context().check(code, CALL, String::new).map(|()| ms),
        }
    }

    /// Whether it was never recorded through this value.
    fn is_fresh(&self) -> bool {
        !self.0.recorded.load(Ordering::Relaxed)
    }

    fn not_ready(&self, end: &TimingEvent) -> Error {
        // It is the end event that programs forget to wait for; an error of the query is reported by the next call.
        let event = if matches!(end.query(), Ok(true)) { START } else { END };
        ErrorKind::Event(EventError::NotReady { event }).into()
    }

    /// Destroys the event now and returns any error.
    ///
    /// Driver call: `cuEventDestroy`, unless the event is borrowed. It does not wait: work that waits for the event
    /// still does.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// ctx.new_timing_event()?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the event is released in any case.
    #[doc(alias = "cuEventDestroy")]
    pub fn close(mut self) -> Result<(), Error> {
        self.0.destroy()
    }
}

const START: &str = "start";
const END: &str = "end";

fn not_recorded(event: &'static str) -> Error {
    ErrorKind::Event(EventError::NotRecorded { event }).into()
}

impl Deref for TimingEvent {
    type Target = AnyEvent;

    fn deref(&self) -> &AnyEvent {
        &self.0
    }
}

impl CudaStream {
    /// Runs `work`, waits for what it submitted to this stream, and returns how long the device took.
    ///
    /// The time runs from when the stream reached the work until it was done, so it includes time in which the stream
    /// was idle while `work` was preparing. Driver calls: `cuEventCreate`, `cuEventRecord` twice each,
    /// `cuEventSynchronize`, `cuEventElapsedTime`, `cuEventDestroy` twice.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let ctx = CudaContext::new(0)?;
    /// let stream = ctx.new_stream()?;
    /// let (zeros, time) = stream.time(|stream| DeviceBuffer::<u8>::zeroed(stream, 1 << 20))?;
    /// println!("{} bytes in {time:?}", zeros.len());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of `work`, and any error returned by the driver.
    pub fn time<R>(
        &self,
        work: impl FnOnce(&CudaStream) -> Result<R, Error>,
    ) -> Result<(R, Duration), Error> {
        let (start, end) = (self.context().new_timing_event()?, self.context().new_timing_event()?);
        start.record(self)?;
        let result = work(self)?;
        end.record(self)?;
        end.synchronize()?;
        let seconds = start.elapsed_ms(&end)? / 1e3;
        Ok((result, Duration::try_from_secs_f32(seconds).unwrap_or_default()))
    }
}
