//! Events over all streams of a context.

#![allow(unsafe_code)] // Calls of the driver with live handles.

use std::sync::atomic::Ordering;

use super::AnyEvent;
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
    /// event.synchronize()?; // as ctx.synchronize(), but work given meanwhile is not waited for
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers and if the driver does not support it for the context (it may require
    /// a green one), or any other error returned by the driver.
    #[doc(alias = "cuCtxRecordEvent")]
    pub fn record_context(&self) -> Result<(), Error> {
        // SAFETY: this value keeps the event and the context that it was made in.
        self.context.call("cuCtxRecordEvent", String::new, |driver| unsafe {
            driver.cuCtxRecordEvent(self.context.raw(), self.raw)
        })?;
        self.recorded.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl CudaContext {
    /// Makes work submitted from now on to any stream of this context wait for `event`.
    ///
    /// Driver call: `cuCtxWaitEvent`, in drivers since CUDA 12.5.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] on older drivers and if the driver does not support it for the context, or any other
    /// error returned by the driver.
    #[doc(alias = "cuCtxWaitEvent")]
    pub fn wait(&self, event: &AnyEvent) -> Result<(), Error> {
        self.same_driver(event.context(), "the event", "the context")?;
        // SAFETY: this context and the event, which may be of another one of the same driver, as was compared, are kept by their handles.
        self.call("cuCtxWaitEvent", String::new, |driver| unsafe {
            driver.cuCtxWaitEvent(self.raw(), event.raw())
        })
    }
}
