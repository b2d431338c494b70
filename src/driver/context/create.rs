//! Contexts other than the primary one, and contexts that other code owns.

#![allow(unsafe_code)] // Calls of the driver with a device that it named and outputs that outlive the call.

use cuda_driver_sys::{
    CUcontext, CUctxCreateParams, CUexecAffinityParam, CUexecAffinityParam_param, CUexecAffinitySmCount,
    CUexecAffinityType, CUresult, Driver,
};
use std::any::Any;
use std::ptr::null_mut;
use std::sync::Arc;

use super::CudaContext;
use super::flags::{ContextFlags, ContextSchedule, join};
use crate::driver::choice::initialise;
use crate::driver::device::CudaDevice;
use crate::driver::hold::Hold;
use crate::driver::older;
use crate::error::{Error, check};
use crate::options::options;

options! {
    /// How [`CudaDevice::create_context`] creates a context.
    ///
    /// ```
    /// use cuda_launch::context::{ContextOptions, ContextSchedule};
    /// use cuda_launch::CudaDevice;
    /// let options = ContextOptions::new().schedule(ContextSchedule::BlockingSync);
    /// let own = CudaDevice::new(0)?.create_context(&options)?;
    /// assert_eq!(own.flags()?.0, ContextSchedule::BlockingSync);
    /// own.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ContextOptions {
        /// How threads wait.
        pub schedule: ContextSchedule,
        /// Flags.
        pub flags: ContextFlags,
        /// Use only about this many multiprocessors; the driver rounds. Requires a device that [supports
        /// it](CudaDevice::supports_multiprocessor_affinity).
        pub multiprocessors: Option<u32>,
    }
}

impl CudaDevice {
    /// Creates a context that shares nothing with the primary one; it is destroyed with its last handle.
    ///
    /// It costs time and device memory, and other libraries do not use it: use the primary context unless you need
    /// separate limits, flags or faults. The current context of this thread does not change.
    ///
    /// Driver calls: `cuCtxCreate_v4`, or `cuCtxCreate_v3` before CUDA 12.5; `cuCtxPopCurrent`; at the end `cuCtxDestroy`.
    ///
    /// # Errors
    /// Any error returned by the driver: `CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY` if multiprocessors
    /// cannot be chosen.
    #[doc(alias = "cuCtxCreate")]
    pub fn create_context(&self, options: &ContextOptions) -> Result<CudaContext, Error> {
        let mut affinity = options.multiprocessors.map(|val| CUexecAffinityParam {
            type_: CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT,
            param: CUexecAffinityParam_param { smCount: CUexecAffinitySmCount { val } },
        });
        let mut parameters = CUctxCreateParams {
            execAffinityParams: affinity.as_mut().map_or(null_mut(), |affinity| affinity),
            numExecAffinityParams: i32::from(options.multiprocessors.is_some()),
            cigParams: null_mut(),
        };
        let flags = join(options.schedule, options.flags);
        let mut raw = null_mut();
        // SAFETY: 1: the driver named the device (`CudaDevice::raw`); the parameters, the one affinity that they count
        // and point to, and `raw` are locals, which outlive the call; they point to nothing else.
        let code =
            unsafe { older::create_context(self.driver(), &mut raw, &mut parameters, flags, self.raw()) };
        check(code, "cuCtxCreate", || format!("device {}, {options:?}", self.ordinal()))?;
        // Making it made it current. Whether this answers, the context is there and has to be kept.
        // SAFETY: the output is a temporary, which outlives the call; what is popped is the context that the creation made current on
        // this thread.
        let popped = unsafe { self.driver().cuCtxPopCurrent(&mut null_mut()) };
        // SAFETY: 1: the context was made above, of this device; nobody else has it, and so nobody else destroys it.
        let context = unsafe { CudaContext::adopt(self.clone(), raw, Hold::Created) }?;
        context.check(popped, "cuCtxPopCurrent", || format!("device {}", self.ordinal()))?;
        Ok(context)
    }
}

impl CudaContext {
    /// A handle to a context that other code created and will destroy or release.
    ///
    /// `owner`, if given, is kept until the last handle is dropped: the other library's object that keeps the context
    /// alive. If handles to the context already exist, this adds another. No handle destroys or releases it.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, sys};
    /// let driver = cuda_emulator::driver();
    /// let mut raw = std::ptr::null_mut();
    /// unsafe { driver.cuInit(0) };
    /// unsafe { driver.cuCtxCreate(&mut raw, std::ptr::null_mut(), 0, 0) }; // some other library
    /// // SAFETY: 1: the context was just made, by this driver; 2: it is destroyed below, after the only handle, from
    /// // which nothing was created.
    /// let ctx = unsafe { CudaContext::from_raw(&driver, raw, None)? };
    /// assert_eq!((ctx.raw(), ctx.ordinal()), (raw, 0));
    /// drop(ctx);
    /// assert_eq!(unsafe { driver.cuCtxDestroy(raw) }, sys::CUresult::SUCCESS);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver calls: `cuCtxPushCurrent`, `cuCtxGetDevice`, `cuCtxPopCurrent`, and those that query the device's limits.
    ///
    /// # Safety
    /// 1. `raw` is a live context of this driver.
    /// 2. It lives as long as the handles and everything created from them, or as long as `owner` does. What a host
    ///    function drops, and what a function given to a stream keeps, ends some time after that, on a thread of this
    ///    crate: until then it counts as there, and only an `owner` can tell.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub unsafe fn from_raw(
        driver: &Arc<Driver>,
        raw: CUcontext,
        owner: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<Self, Error> {
        initialise(driver)?;
        // SAFETY: 1: the caller's duty 1.
        let device = unsafe { device_of(driver, raw) }?;
        // SAFETY: 1: `raw` lives, by the caller's duty 1, and the driver told its device; `owner` keeps it, or it lives
        // as this function's duty 2 says.
        unsafe { Self::adopt(device, raw, Hold::Foreign(owner)) }
    }

    /// The raw context, kept alive as if this handle still existed, until it is passed to [`CudaContext::reclaim_raw`].
    ///
    /// For code that can only carry a pointer. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let driver = ctx.driver().clone();
    /// let raw = ctx.into_raw();
    /// // SAFETY: 1: it comes from `into_raw`, of this driver; 2: it is given back once.
    /// let ctx = unsafe { CudaContext::reclaim_raw(&driver, raw)? };
    /// # ctx.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn into_raw(self) -> CUcontext {
        let raw = self.raw();
        self.leak();
        raw
    }

    /// The handle that [`CudaContext::into_raw`] turned into a raw context. No driver call.
    ///
    /// # Safety
    /// 1. `raw` comes from `into_raw` of a context of this driver.
    /// 2. There is at most one such call for each `into_raw`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` if this crate has no such context.
    pub unsafe fn reclaim_raw(driver: &Arc<Driver>, raw: CUcontext) -> Result<Self, Error> {
        let Some(context) = Self::find(driver, raw) else {
            let asked = format!("{raw:p} is not a context of this crate");
            let code = CUresult::CUDA_ERROR_INVALID_CONTEXT;
            return Err(crate::error::failed(code, "CudaContext::reclaim_raw", asked));
        };
        // SAFETY: 1: `into_raw` left the count, by the caller's duty 1; nobody else takes it off, by duty 2.
        unsafe { context.forget_leaked() };
        Ok(context)
    }
}

/// The device of a context. `cuCtxGetDevice_v2` would tell without making it current, but came with 13.0.
///
/// # Safety
/// 1. `raw` is a live context of this driver.
unsafe fn device_of(driver: &Arc<Driver>, raw: CUcontext) -> Result<CudaDevice, Error> {
    let asked = || format!("context {raw:p}");
    let mut device = 0;
    // SAFETY: the context is alive, by the caller's duty 1.
    check(unsafe { driver.cuCtxPushCurrent(raw) }, "cuCtxPushCurrent", asked)?;
    // SAFETY: the context of the caller was pushed above, and is current; `device` is a local, which outlives the call.
    let told = unsafe { driver.cuCtxGetDevice(&mut device) };
    // SAFETY: the output is a temporary, which outlives the call; what is popped was pushed above.
    check(unsafe { driver.cuCtxPopCurrent(&mut null_mut()) }, "cuCtxPopCurrent", asked)?;
    check(told, "cuCtxGetDevice", asked)?;
    let known = CudaDevice::all_of(driver)?.into_iter().find(|known| known.raw() == device);
    Ok(known.unwrap_or_else(|| CudaDevice::of(driver, device, u32::try_from(device).unwrap_or(0))))
}
