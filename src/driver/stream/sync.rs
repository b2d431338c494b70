//! The host waits for a stream, or asks whether its work is done.

#![allow(unsafe_code)] // Calls of the driver with a stream that its handle keeps.

use cuda_driver_sys::{CUresult, Driver};
use std::time::Duration;

use super::CudaStream;
use super::thread::OwnWait;
use crate::driver::capture::open::{ContextWait, outside_captures};
use crate::driver::host_call;
use crate::error::Error;

impl CudaStream {
    /// Waits until all work submitted to the stream so far is done.
    ///
    /// Driver call: `cuStreamSynchronize`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.view_mut().set_zero(&stream)?;
    /// stream.synchronize()?; // the memory is zero now
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky; or a panic in a host function of this stream.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.drain()?;
        host_call::raise_of_stream(self)
    }

    /// Waits like [`synchronize`](Self::synchronize), but leaves panics of host functions to be reported by the next
    /// call.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        self.refuse_in_capture("cuStreamSynchronize")?;
        let (taken, own) = (self.taken(), OwnWait::begin(self));
        let wait = |driver: &Driver| {
            // SAFETY: the stream lives as long as this handle (`StreamInner`); a default one is that of the context
            // that `call` makes current.
            unsafe { driver.cuStreamSynchronize(self.raw()) }
        };
        self.call("cuStreamSynchronize", || self.label(), wait)?;
        self.settle(taken);
        own.end();
        Ok(())
    }

    /// Waits without a span, for work whose borrow is about to end: polls if the driver refuses to wait, and waits for the whole
    /// context if it refuses that, too. Returns whether the work is done or was ended by a fault.
    pub(crate) fn wait_untraced(&self) -> bool {
        let driver = self.context().driver();
        match self.context().bind() {
            // The fault has ended all work.
            Err(error) if error.is_sticky() => return true,
            // A default stream is that of the current context.
            Err(_) if !self.is_explicit() => return false,
            _ => {}
        }
        let is_over = |code: CUresult| code == CUresult::SUCCESS || code.is_sticky();
        outside_captures(self.context(), || {
            // SAFETY: the stream lives as long as this handle (`StreamInner`); a default one is that of the context
            // that `bind` made current, or, if that failed, of another one, for which waiting or querying is harmless.
            is_over(unsafe { driver.cuStreamSynchronize(self.raw()) })
                || loop {
                    // SAFETY: as for `cuStreamSynchronize` above.
                    match unsafe { driver.cuStreamQuery(self.raw()) } {
                        CUresult::CUDA_ERROR_NOT_READY => std::thread::sleep(Duration::from_micros(100)),
                        code => break is_over(code),
                    }
                }
                || ContextWait::begin(self.context(), "cuCtxSynchronize").is_ok_and(|_wait| {
                    // SAFETY: `bind` has just made current the context that the call waits for.
                    self.context().bind().is_ok() && is_over(unsafe { driver.cuCtxSynchronize() })
                })
        })
    }

    /// Whether all work submitted to the stream so far is done.
    ///
    /// Driver call: `cuStreamQuery`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// while !stream.query()? {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of work in the context, which is sticky; when all is done, a panic in a host function of this
    /// stream.
    #[doc(alias = "cuStreamQuery")]
    pub fn query(&self) -> Result<bool, Error> {
        let done = self.is_done()?;
        if done {
            host_call::raise_of_stream(self)?;
        }
        Ok(done)
    }

    /// Queries like [`query`](Self::query), but leaves panics of host functions to be reported by the next call.
    pub(in crate::driver) fn is_done(&self) -> Result<bool, Error> {
        self.refuse_in_capture("cuStreamQuery")?;
        if !self.is_explicit() {
            self.context().enter("cuStreamQuery")?;
        }
        // SAFETY: the stream lives as long as this handle (`StreamInner`); a default one is that of the context that `enter` made
        // current.
        let ask = |driver: &Driver| unsafe { driver.cuStreamQuery(self.raw()) };
        match self.context().ask_by_handle("cuStreamQuery", ask)? {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => self.context().check(code, "cuStreamQuery", String::new).map(|()| true),
        }
    }
}
