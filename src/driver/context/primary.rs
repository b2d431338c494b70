//! A device's primary context, as all libraries in the process see it.

#![allow(unsafe_code)] // Calls of the driver with a device that it named and outputs that outlive the call.

use super::CudaContext;
use super::flags::{ContextFlags, ContextSchedule, join, split};
use crate::driver::device::CudaDevice;
use crate::error::{ContextInUse, Error, ErrorKind};

/// The result of [`CudaDevice::primary_context_state`].
///
/// ```
/// use cuda_launch::{CudaContext, CudaDevice};
/// let device = CudaDevice::new(0)?;
/// let ctx = device.context()?;
/// assert!(device.primary_context_state()?.active);
/// # drop(ctx);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrimaryContextState {
    /// Some library in this process retains it.
    pub active: bool,
    /// How threads wait.
    pub schedule: ContextSchedule,
    /// Flags.
    pub flags: ContextFlags,
}

impl CudaDevice {
    /// Whether the primary context is active, and its flags.
    ///
    /// Driver call: `cuDevicePrimaryCtxGetState`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuDevicePrimaryCtxGetState")]
    pub fn primary_context_state(&self) -> Result<PrimaryContextState, Error> {
        let (mut raw, mut active) = (0, 0);
        // SAFETY: the driver named the device (`CudaDevice::raw`); both outputs are locals, which outlive the call.
        self.call("cuDevicePrimaryCtxGetState", |driver| unsafe {
            driver.cuDevicePrimaryCtxGetState(self.raw(), &mut raw, &mut active)
        })?;
        let (schedule, flags) = split(raw);
        Ok(PrimaryContextState { active: active != 0, schedule, flags })
    }

    /// Sets how threads wait for the primary context, and its flags: for other libraries too, and even if the context
    /// is already open.
    ///
    /// Driver call: `cuDevicePrimaryCtxSetFlags`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for flags that this driver does not know.
    #[doc(alias = "cuDevicePrimaryCtxSetFlags")]
    pub fn set_primary_context_flags(
        &self,
        schedule: ContextSchedule,
        flags: ContextFlags,
    ) -> Result<(), Error> {
        let raw = join(schedule, flags);
        // SAFETY: the driver named the device, and checks the flags; there is no pointer.
        let code = unsafe { self.driver().cuDevicePrimaryCtxSetFlags(self.raw(), raw) };
        crate::error::check(code, "cuDevicePrimaryCtxSetFlags", || {
            format!("device {}, {schedule:?}, {flags:?}", self.ordinal())
        })
    }

    /// Destroys the primary context with everything in it, regardless of who created it. It does not recover from a kernel's
    /// fault.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// // SAFETY: 1: no other code of this program uses CUDA, on whatever thread; and `ctx` is there, so that the call
    /// // is refused.
    /// let error = unsafe { ctx.device().reset_primary_context() }.unwrap_err();
    /// assert!(error.is_context_in_use(), "`ctx` is there");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuDevicePrimaryCtxReset`.
    ///
    /// # Safety
    /// 1. No other code of this process uses the context or anything in it, now or later; and no thread opens it in the
    ///    meantime.
    ///
    /// # Errors
    /// [`is_context_in_use`](Error::is_context_in_use) while a handle of this crate exists: a [`CudaContext`], or
    /// anything created from one.
    #[doc(alias = "cuDevicePrimaryCtxReset")]
    pub unsafe fn reset_primary_context(&self) -> Result<(), Error> {
        if CudaContext::is_primary_open(self) {
            return Err(ErrorKind::ContextInUse(ContextInUse { device: self.ordinal() }).into());
        }
        // SAFETY: nobody uses the context or what is in it: this crate had no handle of it above, and that none is opened meanwhile, and
        // that other code has none in use, is the caller's duty 1.
        self.call("cuDevicePrimaryCtxReset", |driver| unsafe { driver.cuDevicePrimaryCtxReset(self.raw()) })
    }
}
