//! Events over all streams of a context.

#![allow(unsafe_code)] // Calls of the driver with live handles.

use super::AnyEvent;
use crate::driver::capture::open::ContextWait;
use crate::driver::context::CudaContext;
use crate::error::Error;

impl AnyEvent {
    /// Records the event after all work submitted so far to all streams of its context.
    ///
    /// Driver call: `cuCtxRecordEvent`, in drivers since CUDA 12.5.
    ///
    /// ```no_run
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let event = ctx.new_event()?;
    /// event.record_context()?;
    /// event.synchronize()?; // like ctx.synchronize(), but does not wait for work submitted in the meantime
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers and if the driver does not support it for the context (it may require
    /// a green one); a stream of the context is being captured, by this thread or another one ([`Error::is_refused_in_capture`]); or any
    /// other error returned by the driver.
    #[doc(alias = "cuCtxRecordEvent")]
    pub fn record_context(&self) -> Result<(), Error> {
        let _alone = ContextWait::begin(&self.context, "cuCtxRecordEvent")?;
        let recording = self.recording_by(0, "cuCtxRecordEvent")?;
        // SAFETY: the event lives as long as this value (`AnyEvent::raw`), which has a handle of its context too.
        self.context.call("cuCtxRecordEvent", String::new, |driver| unsafe {
            driver.cuCtxRecordEvent(self.context.raw(), self.raw)
        })?;
        recording.done();
        Ok(())
    }
}

impl CudaContext {
    /// Makes work submitted from now on to any stream of this context wait for `event`.
    ///
    /// Driver call: `cuCtxWaitEvent`, in drivers since CUDA 12.5.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers and if the driver does not support it for the context; a stream of the context is
    /// being captured, or the event was last recorded in a capture ([`Error::is_refused_in_capture`]); or any other error returned by the
    /// driver.
    #[doc(alias = "cuCtxWaitEvent")]
    pub fn wait(&self, event: &AnyEvent) -> Result<(), Error> {
        self.same_driver(event.context(), "the event", "the context")?;
        let _alone = ContextWait::begin(self, "cuCtxWaitEvent")?;
        let _steady = event.marks_work("cuCtxWaitEvent")?;
        // SAFETY: this context lives as long as its handle (`ContextInner::raw`), the event as long as its own (`AnyEvent::raw`); it may
        // be of another context of the same driver, as was checked.
        self.call("cuCtxWaitEvent", String::new, |driver| unsafe {
            driver.cuCtxWaitEvent(self.raw(), event.raw())
        })
    }
}
