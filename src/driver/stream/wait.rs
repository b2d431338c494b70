//! Waits of a stream: for an event, for all work of another stream.

#![allow(unsafe_code)] // A call of the driver with handles that their owners keep.

use std::sync::Arc;

use super::{CudaStream, StreamFlags};
use crate::driver::event::{AnyEvent, EventWaitFlags};
use crate::error::Error;

impl CudaStream {
    /// Makes work submitted to this stream from now on wait for `event`.
    ///
    /// The event may belong to another context, and be of any kind; it may be recorded again, or dropped, as soon as
    /// this returns. Driver call: `cuStreamWaitEvent`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let (other, event) = (ctx.new_stream()?, ctx.new_event()?);
    /// event.record(&stream)?;
    /// other.wait(&event)?; // work submitted to `other` from here on runs after it
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait(&self, event: &AnyEvent) -> Result<(), Error> {
        self.wait_with(event, EventWaitFlags::empty())
    }

    /// Like [`wait`](Self::wait), with flags.
    ///
    /// Driver call: `cuStreamWaitEvent`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::event::EventWaitFlags;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let event = ctx.new_event()?;
    /// event.record(&ctx.default_stream())?;
    /// stream.wait_with(&event, EventWaitFlags::empty())?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`wait`](Self::wait); `CUDA_ERROR_ILLEGAL_STATE` for [`EventWaitFlags::EXTERNAL`] outside of a capture.
    pub fn wait_with(&self, event: &AnyEvent, flags: EventWaitFlags) -> Result<(), Error> {
        let _turn = self.turn("cuStreamWaitEvent")?;
        self.wait_in_turn(event, flags)
    }

    /// The same, for a caller that has the turn already.
    fn wait_in_turn(&self, event: &AnyEvent, flags: EventWaitFlags) -> Result<(), Error> {
        let _steady = self.may_wait(event, flags)?;
        let asked = || format!("flags {flags:?}");
        // SAFETY: the stream lives as long as this handle (`StreamInner`), the event as long as its own (`AnyEvent::raw`); both belong
        // to one driver, as `may_wait` checked.
        self.call("cuStreamWaitEvent", asked, |driver| unsafe {
            driver.cuStreamWaitEvent(self.raw(), event.raw(), flags.bits())
        })
    }

    /// Makes work submitted to this stream from now on wait for all work submitted to `other` so far.
    ///
    /// Driver calls: `cuEventRecord`, `cuStreamWaitEvent`; the first time for this handle of `other` also `cuEventCreate`.
    /// If the two belong to different drivers, the host waits instead: `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let other = ctx.new_stream()?;
    /// other.call_host(|| println!("first"))?;
    /// stream.join(&other)?;
    /// stream.call_host(|| println!("second"))?;
    /// # stream.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn join(&self, other: &CudaStream) -> Result<(), Error> {
        self.after(other)
    }

    /// A new stream whose work waits for all work submitted to this one so far.
    ///
    /// The fork of a capturing stream is part of the capture, and is joined at its end if it was not joined before.
    ///
    /// Driver calls: those of [`CudaContext::new_stream`](crate::CudaContext::new_stream) and [`CudaStream::join`].
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// let branch = stream.fork()?; // runs after the earlier work of `stream`
    /// branch.call_host(|| println!("beside it"))?;
    /// stream.join(&branch)?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn fork(&self) -> Result<CudaStream, Error> {
        self.capture_is_open("cuStreamWaitEvent")?;
        let fork = Self::made_for(self.context(), StreamFlags::NON_BLOCKING, 0, self.in_capture())?;
        // Held until the fork is recorded: the end of the capture joins all recorded forks.
        let _turn = self.turn("cuStreamWaitEvent")?;
        fork.after_in_turn(self)?;
        if let Some(capture) = self.capture() {
            capture.add_fork(&fork);
        }
        Ok(fork)
    }

    /// Makes work submitted to this stream from now on wait for the work submitted to `earlier` so far.
    ///
    /// Driver calls: `cuEventRecord`, `cuStreamWaitEvent`; the first time `cuEventCreate`. Between two drivers
    /// `cuStreamSynchronize`.
    pub(crate) fn after(&self, earlier: &Self) -> Result<(), Error> {
        let _turn = self.turn("cuStreamWaitEvent")?;
        self.after_in_turn(earlier)
    }

    /// The same for a submission, which already has the turn.
    pub(in crate::driver) fn after_in_turn(&self, earlier: &Self) -> Result<(), Error> {
        if self.raw() == earlier.raw() && self.shares_context(earlier) {
            return Ok(());
        }
        if !Arc::ptr_eq(self.context().driver(), earlier.context().driver()) {
            // A stream cannot wait for an event of another driver.
            return earlier.drain();
        }
        // Checked before the mark is recorded, because other streams wait for it.
        self.is_of_capture(earlier.capture_id())?;
        if earlier.is_per_thread() {
            // A new event, because other threads would record the shared one on their own streams.
            let mark = earlier.context().new_event()?;
            mark.record_in_turn(earlier)?;
            return self.wait_in_turn(&mark, EventWaitFlags::empty());
        }
        let mark = match earlier.inner.mark.get() {
            Some(mark) => mark,
            None => {
                let event = earlier.context().new_event()?;
                earlier.inner.mark.get_or_init(|| event)
            }
        };
        mark.record_in_turn(earlier)?;
        self.wait_in_turn(mark, EventWaitFlags::empty())
    }
}
