//! Primary contexts.

#![allow(unsafe_code)] // Calls of the driver with live handles: the context is retained until `ContextInner` drops.

use cuda_driver_sys::{CUcontext, CUdevice, CUdevice_attribute, CUresult, Driver};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, Weak};

use super::choice::{default_driver, initialise};
use super::fault::FaultState;
use super::host_call;
use super::limits::DeviceLimits;
use super::stream::{CudaStream, StreamFlags};
use crate::error::{Error, ErrorKind, Forked, check, failed};

/// A device's primary context on one driver, retained as long as a handle or anything made from it lives.
///
/// Handles are cheap to clone and may be used from every thread.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// println!("{} with {} multiprocessors", ctx.device_name()?, ctx.multiprocessor_count()?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "cuDevicePrimaryCtxRetain")]
pub struct CudaContext {
    inner: Arc<ContextInner>,
}

#[derive(Debug)]
struct ContextInner {
    raw: CUcontext,
    driver: Arc<Driver>,
    driver_version: u32,
    device: CUdevice,
    ordinal: u32,
    limits: DeviceLimits,
    /// The process that opened it.
    process: u32,
    fault: FaultState,
}

// SAFETY: a CUcontext may be used from every thread (driver API, "Context Management"); the rest is plain data.
unsafe impl Send for ContextInner {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for ContextInner {}

impl CudaContext {
    /// Opens device `ordinal` of the [default driver](crate::default_driver).
    ///
    /// Driver calls: `cuInit`, `cuDriverGetVersion`, `cuDeviceGet`, `cuDevicePrimaryCtxRetain`,
    /// `cuDeviceGetAttribute`. The context becomes current on no thread yet.
    ///
    /// # Errors
    /// No driver serves, there is no such device, or its context cannot be made.
    pub fn new(ordinal: u32) -> Result<Self, Error> {
        Self::with_driver(&default_driver()?, ordinal)
    }

    /// Opens device `ordinal` of this driver, so that the emulator and a GPU can serve one process.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let emulator = cuda_emulator::driver();
    /// let ctx = CudaContext::with_driver(&emulator, 0)?;
    /// assert!(ctx.device_name()?.contains("emulator"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CudaContext::new`].
    pub fn with_driver(driver: &Arc<Driver>, ordinal: u32) -> Result<Self, Error> {
        initialise(driver)?;
        let asked = || format!("device {ordinal}");
        let mut device = 0;
        let index = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: `device` outlives the call.
        check(unsafe { driver.cuDeviceGet(&mut device, index) }, "cuDeviceGet", asked)?;
        // Nothing below the lock panics; a poisoned lock would still hold a whole list.
        let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
        open.retain(|context| context.strong_count() != 0);
        let known = open.iter().filter_map(Weak::upgrade);
        if let Some(inner) = known.into_iter().find(|c| Arc::ptr_eq(&c.driver, driver) && c.device == device)
        {
            return Ok(Self { inner });
        }
        let inner = Arc::new(ContextInner::retain(driver, device, ordinal)?);
        open.push(Arc::downgrade(&inner));
        Ok(Self { inner })
    }

    /// The legacy default stream: work on it waits for all work of the context's blocking streams, and they for it.
    ///
    /// It is passed as `CU_STREAM_LEGACY`. No driver call.
    pub fn default_stream(&self) -> CudaStream {
        CudaStream::legacy(self)
    }

    /// A stream of its own that does not wait for the default stream.
    ///
    /// Driver calls: `cuStreamCreateWithPriority`, and `cuCtxGetCurrent`/`cuCtxSetCurrent` as for every call on a context.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn new_stream(&self) -> Result<CudaStream, Error> {
        CudaStream::new(self, StreamFlags::NON_BLOCKING, 0)
    }

    /// Waits for all work of this context.
    ///
    /// Driver call: `cuCtxSynchronize`.
    ///
    /// # Errors
    /// The first fault of that work, which is sticky; or a panic in a host function of one of the streams.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.drain()?;
        host_call::raise_of_context(self.identity())
    }

    /// Waits as [`synchronize`](Self::synchronize), and leaves panics in host functions for the next one to tell.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        let label = || self.inner.label();
        let standing = self.inner.fault.standing();
        // SAFETY: the context is current.
        self.call("cuCtxSynchronize", label, |driver| unsafe { driver.cuCtxSynchronize() })?;
        for (stream, next) in standing {
            stream.launches.settle(next);
        }
        Ok(())
    }

    /// The device's name.
    ///
    /// Driver call: `cuDeviceGetName`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn device_name(&self) -> Result<String, Error> {
        let mut name = [0u8; 256];
        // SAFETY: the buffer is as long as said; the last byte stays NUL.
        let code = unsafe { self.driver().cuDeviceGetName(name.as_mut_ptr().cast(), 255, self.inner.device) };
        check(code, "cuDeviceGetName", || self.inner.label())?;
        let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        Ok(String::from_utf8_lossy(&name[..len]).into_owned())
    }

    /// Multiprocessors of the device. No driver call.
    ///
    /// # Errors
    /// None today; later devices may have to be asked.
    pub fn multiprocessor_count(&self) -> Result<u32, Error> {
        Ok(self.limits().multiprocessors)
    }

    /// Any attribute of the device.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know.
    pub fn device_attribute(&self, attribute: CUdevice_attribute) -> Result<i32, Error> {
        device_attribute(self.driver(), self.inner.device, attribute)
    }

    /// Free and total bytes of device memory.
    ///
    /// Driver call: `cuMemGetInfo`.
    ///
    /// # Errors
    /// Whatever the driver answers.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        let (mut free, mut total) = (0, 0);
        let label = || self.inner.label();
        // SAFETY: the context is current, both outputs outlive the call.
        self.call("cuMemGetInfo", label, |driver| unsafe { driver.cuMemGetInfo(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// What the device allows a launch to ask for. No driver call.
    pub fn limits(&self) -> &DeviceLimits {
        &self.inner.limits
    }

    /// The device's ordinal on its driver. No driver call.
    pub fn ordinal(&self) -> u32 {
        self.inner.ordinal
    }

    /// The driver. No driver call.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.inner.driver
    }

    /// The newest CUDA version the driver supports, as `cuDriverGetVersion` counts: 13000 is 13.0. No driver call.
    pub fn driver_version(&self) -> u32 {
        self.inner.driver_version
    }

    /// The raw context, valid as long as this handle. No driver call.
    pub fn raw(&self) -> CUcontext {
        self.inner.raw
    }

    /// The raw device. No driver call.
    pub fn raw_device(&self) -> CUdevice {
        self.inner.device
    }

    /// Whether both are handles of one context on one driver.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What tells this context from all others, as long as a handle lives.
    pub(super) fn identity(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// Makes the context current on this thread if it is not.
    ///
    /// Calls of this crate do so themselves; call it before raw driver calls of your own.
    ///
    /// Driver calls: `cuCtxGetCurrent`, and `cuCtxSetCurrent` only if another context was current.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[inline]
    pub fn bind(&self) -> Result<(), Error> {
        self.inner.bind()
    }

    /// As [`bind`](Self::bind), for the driver function `call`, which an error may name.
    #[inline]
    pub(crate) fn enter(&self, call: &'static str) -> Result<(), Error> {
        self.bind().or_else(|error| host_call::refuse(call).and(Err(error)))
    }

    /// Makes the context current, calls the driver and checks its answer: what every call on an object of this context
    /// goes through, launches excepted. `asked` is only evaluated for an error.
    #[inline]
    pub(crate) fn call(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.enter(name)?;
        self.check(call(&self.inner.driver), name, asked)
    }

    /// Turns an answer of the driver to a call on this context into a `Result`; remembers a fault.
    #[inline]
    pub(crate) fn check(
        &self,
        code: CUresult,
        call: &'static str,
        asked: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if code == CUresult::SUCCESS { Ok(()) } else { Err(self.failed(code, call, asked())) }
    }

    #[cold]
    pub(crate) fn failed(&self, code: CUresult, call: &'static str, asked: String) -> Error {
        self.inner.failed(code, call, asked)
    }

    /// What is told of a fault.
    pub(super) fn fault(&self) -> &FaultState {
        &self.inner.fault
    }

    /// Releases the context now if this is the last handle to it, and says what the driver answered.
    ///
    /// Driver call: `cuDevicePrimaryCtxRelease`, for the last handle.
    ///
    /// # Errors
    /// Whatever the driver answers; the handle is gone in any case.
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.release())
    }
}

/// The open contexts: there is one `ContextInner` for a driver and device, so that handles of one context are copies of
/// one `Arc`, and comparing their addresses compares contexts.
static OPEN: Mutex<Vec<Weak<ContextInner>>> = Mutex::new(Vec::new());

impl ContextInner {
    fn retain(driver: &Arc<Driver>, device: CUdevice, ordinal: u32) -> Result<Self, Error> {
        let asked = || format!("device {ordinal}");
        let version =
            driver.version().map_err(|code| crate::error::failed(code, "cuDriverGetVersion", asked()))?;
        let limits = DeviceLimits::query(|a| device_attribute(driver, device, a))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device exists, `raw` outlives the call.
        let code = unsafe { driver.cuDevicePrimaryCtxRetain(&mut raw, device) };
        check(code, "cuDevicePrimaryCtxRetain", asked)?;
        let driver_version = u32::try_from(version).unwrap_or(0);
        Ok(Self {
            raw,
            driver: driver.clone(),
            driver_version,
            device,
            ordinal,
            limits,
            process: std::process::id(),
            fault: FaultState::default(),
        })
    }

    /// See [`CudaContext::bind`].
    #[inline]
    fn bind(&self) -> Result<(), Error> {
        self.fault.check()?;
        let mut current = std::ptr::null_mut();
        // SAFETY: `current` outlives the call.
        let code = unsafe { self.driver.cuCtxGetCurrent(&mut current) };
        if code == CUresult::SUCCESS && current == self.raw { Ok(()) } else { self.bind_slow(code) }
    }

    #[cold]
    fn bind_slow(&self, code: CUresult) -> Result<(), Error> {
        if code != CUresult::SUCCESS {
            return Err(self.failed(code, "cuCtxGetCurrent", self.label()));
        }
        // The driver would leave it current on a thread of its own.
        host_call::refuse("cuCtxSetCurrent")?;
        // SAFETY: the context is retained.
        match unsafe { self.driver.cuCtxSetCurrent(self.raw) } {
            CUresult::SUCCESS => Ok(()),
            code => Err(self.failed(code, "cuCtxSetCurrent", self.label())),
        }
    }

    /// The error for an answer of the driver: a fault is remembered, and a fork is told from a missing `cuInit`.
    fn failed(&self, code: CUresult, call: &'static str, asked: String) -> Error {
        let child = std::process::id();
        if code.is_sticky() {
            let error = self.fault.raise(code, call);
            host_call::reclaim(std::ptr::from_ref(self).addr());
            error
        } else if code == CUresult::CUDA_ERROR_NOT_PERMITTED
            && let Err(error) = host_call::refuse(call)
        {
            error
        } else if code == CUresult::CUDA_ERROR_NOT_INITIALIZED && child != self.process {
            ErrorKind::Forked(Forked { call, parent: self.process, child }).into()
        } else {
            failed(code, call, asked)
        }
    }

    fn label(&self) -> String {
        format!("device {}", self.ordinal)
    }

    fn release(&mut self) -> Result<(), Error> {
        if self.raw.is_null() {
            return Ok(());
        }
        self.raw = std::ptr::null_mut();
        // SAFETY: this is the one release for the one retain of this value.
        let code = unsafe { self.driver.cuDevicePrimaryCtxRelease(self.device) };
        check(code, "cuDevicePrimaryCtxRelease", || self.label())
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        host_call::forget(std::ptr::from_ref(self).addr());
        if !host_call::is_running() {
            // An error here cannot be reported, and the process goes on without the context: `close` reports.
            let _ = self.release();
        } else if !self.raw.is_null() {
            let (driver, device) = (self.driver.clone(), self.device);
            host_call::outside(move || {
                // SAFETY: this is the one release for the one retain of the value that is dropped.
                let _ = unsafe { driver.cuDevicePrimaryCtxRelease(device) };
            });
        }
    }
}

fn device_attribute(driver: &Driver, device: CUdevice, attribute: CUdevice_attribute) -> Result<i32, Error> {
    let mut value = 0;
    // SAFETY: `value` outlives the call; an unknown device or attribute is an error code.
    let code = unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) };
    check(code, "cuDeviceGetAttribute", || format!("attribute {} of device {device}", attribute.0))?;
    Ok(value)
}

/// The error for objects of two contexts in one call.
#[cold]
pub(crate) fn context_mismatch(what: &str, with: &str) -> Error {
    ErrorKind::Context(crate::error::ContextMismatch { what: what.into(), with: with.into() }).into()
}
