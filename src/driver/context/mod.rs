//! Contexts: a device's primary one, others, and those that other code owns.

#![allow(unsafe_code)] // Calls of the driver with live handles: `ContextInner` keeps the context until it drops.

pub(in crate::driver) mod create;
pub(in crate::driver) mod flags;
pub(in crate::driver) mod primary;
pub(in crate::driver) mod settings;
pub(in crate::driver) mod work;

use cuda_driver_sys::{CUcontext, CUdevice, CUresult, Driver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::capture::open::{ContextWait, despite_captures, outside_captures};
use super::choice::default_driver;
use super::device::CudaDevice;
use super::device::attribute::DeviceAttribute;
use super::fault::FaultState;
use super::hold::{Debt, Hold};
use super::host_call;
use super::limits::DeviceLimits;
use super::stream::{CudaStream, StreamFlags};
use crate::error::{Error, ErrorKind, Forked, check, failed};
use crate::trace;
use work::Work;

/// A context of a device, kept alive as long as a handle or anything created from it exists.
///
/// [`CudaContext::new`] opens the device's primary context, which all libraries in a process share; it is almost always
/// the right one. [`CudaDevice::create_context`] creates another one, and [`CudaContext::from_raw`] wraps one that
/// other code owns. Handles are cheap to clone and may be used from every thread.
///
/// ```
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// println!("{} with {} multiprocessors", ctx.device_name()?, ctx.multiprocessor_count()?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "cuDevicePrimaryCtxRetain")]
pub struct CudaContext {
    inner: Arc<ContextInner>,
}

pub(super) struct ContextInner {
    raw: CUcontext,
    driver: Arc<Driver>,
    driver_version: u32,
    device: CudaDevice,
    limits: DeviceLimits,
    /// What keeps the context, and is owed to the driver at the end.
    holds: Mutex<Vec<Hold>>,
    /// The process that opened it.
    process: u32,
    fault: FaultState,
    work: Work,
    /// Events between two uses.
    #[cfg(feature = "async")]
    events: super::event::EventPool,
}

// SAFETY: a CUcontext may be used from every thread (driver API, "Context Management"); the rest is Send.
unsafe impl Send for ContextInner {}
// SAFETY: as above; the raw handle is never changed, and what changes of the rest is behind locks or atomic.
unsafe impl Sync for ContextInner {}

impl CudaContext {
    /// Opens device `ordinal` of the [default driver](crate::default_driver).
    ///
    /// Driver calls: `cuInit`, `cuDriverGetVersion`, `cuDeviceGet`, `cuDevicePrimaryCtxRetain`,
    /// `cuDeviceGetAttribute`. The context does not become current on any thread yet.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// println!("{}", ctx.device_name()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// No usable driver, no such device, or its context cannot be created.
    pub fn new(ordinal: u32) -> Result<Self, Error> {
        Self::with_driver(&default_driver()?, ordinal)
    }

    /// Opens device `ordinal` of this driver, so that one process can use both the emulator and a GPU.
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
    /// As for [`CudaContext::new`].
    pub fn with_driver(driver: &Arc<Driver>, ordinal: u32) -> Result<Self, Error> {
        let device = CudaDevice::with_driver(driver, ordinal)?;
        let mut open = Open::lock();
        let is_it = |c: &ContextInner| c.device == device && c.has(|hold| matches!(hold, Hold::Retained));
        if let Some(inner) = open.find(driver, is_it) {
            return Ok(Self { inner });
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: the driver named the device, `raw` outlives the call.
        let code = unsafe { driver.cuDevicePrimaryCtxRetain(&mut raw, device.raw()) };
        check(code, "cuDevicePrimaryCtxRetain", || format!("device {ordinal}"))?;
        let adopted = open.adopt(&device, raw, Hold::Retained);
        drop(open);
        adopted.map_err(|(error, hold)| hold.give_up(&device, raw, error))
    }

    /// A handle to a live context: the one that there is, or a new one. `hold` is what it owes at its end, also where
    /// this fails.
    pub(super) fn adopt(device: CudaDevice, raw: CUcontext, hold: Hold) -> Result<Self, Error> {
        let adopted = Open::lock().adopt(&device, raw, hold);
        adopted.map_err(|(error, hold)| hold.give_up(&device, raw, error))
    }

    /// The open context with that handle.
    pub(super) fn find(driver: &Arc<Driver>, raw: CUcontext) -> Option<Self> {
        let inner = Open::lock().find(driver, |c| c.raw == raw)?;
        Some(Self { inner })
    }

    /// Whether this crate has a handle to the primary context of that device, or to one that may be it.
    pub(super) fn is_primary_open(device: &CudaDevice) -> bool {
        let may_be = |c: &ContextInner| c.device == *device && !c.has(|hold| matches!(hold, Hold::Created));
        Open::lock().find(device.driver(), may_be).is_some()
    }

    /// One more count of the handle, which [`CudaContext::forget_leaked`] takes off again.
    pub(super) fn leak(self) {
        std::mem::forget(self.inner);
    }

    /// Takes off a count that [`CudaContext::leak`] left.
    ///
    /// # Safety
    /// 1. There is such a count of this context, which nobody else takes off.
    pub(super) unsafe fn forget_leaked(&self) {
        // SAFETY: the pointer is of the `Arc` of `leak`, as a context has one only; the count is there by the caller's duty 1. This
        // handle has another one, so the value lives on.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&self.inner)) };
    }

    /// The device. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// println!("{:?}", ctx.device().compute_capability()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn device(&self) -> CudaDevice {
        self.inner.device.clone()
    }

    /// The legacy default stream: work on it waits for all work in the context's blocking streams, and vice versa.
    ///
    /// It is passed as `CU_STREAM_LEGACY`. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// let x = DeviceBuffer::from_host(&ctx.default_stream(), &[1u32, 2])?;
    /// assert_eq!(x.to_host_vec(&ctx.default_stream())?, [1, 2]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn default_stream(&self) -> CudaStream {
        CudaStream::legacy(self)
    }

    /// A new stream that does not synchronise with the default stream.
    ///
    /// Driver calls: `cuStreamCreateWithPriority`, and `cuCtxGetCurrent`/`cuCtxSetCurrent` as for every call on a context.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let (copies, kernels) = (ctx.new_stream()?, ctx.new_stream()?); // work on them may overlap
    /// assert_ne!(copies.raw(), kernels.raw());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn new_stream(&self) -> Result<CudaStream, Error> {
        CudaStream::new(self, StreamFlags::NON_BLOCKING, 0)
    }

    /// Waits for all work in this context.
    ///
    /// Driver call: `cuCtxSynchronize`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// stream.call_host(|| println!("first"))?;
    /// ctx.synchronize()?; // all streams of the context
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// A stream of the context is being captured, by this thread or another one ([`Error::is_not_in_capture`]); the
    /// first fault of that work, which is sticky; or a panic in a host function of one of its streams.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.drain()?;
        // What could not be given back earlier.
        super::park::sweep();
        host_call::raise_of_context(self.identity())
    }

    /// Waits as [`synchronize`](Self::synchronize), and leaves panics in host functions for the next one to tell.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        let _alone = ContextWait::begin(self, "cuCtxSynchronize")?;
        let label = || self.inner.label();
        // SAFETY: `call` made the context current.
        let wait = || self.call("cuCtxSynchronize", label, |driver| unsafe { driver.cuCtxSynchronize() });
        self.settle_by(wait)
    }

    /// Waits until no work in the context runs any more: a fault ends it, too.
    ///
    /// Driver call: `cuCtxSynchronize`.
    pub(crate) fn end_of_work(&self) -> Result<(), Error> {
        self.drain().or_else(|error| if error.is_sticky() { Ok(()) } else { Err(error) })
    }

    /// The device's name.
    ///
    /// Driver call: `cuDeviceGetName`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// println!("{}", ctx.device_name()?);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn device_name(&self) -> Result<String, Error> {
        self.inner.device.name()
    }

    /// Multiprocessors of the device. No driver call.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let blocks = ctx.multiprocessor_count()? * f.max_active_blocks(256, 0)?; // as many as run at once
    /// assert!(blocks > 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// None at present; later devices may have to be queried.
    pub fn multiprocessor_count(&self) -> Result<u32, Error> {
        Ok(self.limits().multiprocessors)
    }

    /// Any attribute of the device; see [`CudaContext::device`] for other queries.
    ///
    /// Driver call: `cuDeviceGetAttribute`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::device::DeviceAttribute;
    /// # let ctx = CudaContext::new(0)?;
    /// let bytes = ctx.device_attribute(DeviceAttribute::L2_CACHE_SIZE)?;
    /// assert!(bytes >= 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know.
    pub fn device_attribute(&self, attribute: impl Into<DeviceAttribute>) -> Result<i32, Error> {
        self.inner.device.attribute(attribute)
    }

    /// Free and total bytes of device memory.
    ///
    /// Driver call: `cuMemGetInfo`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let (free, total) = ctx.memory_info()?;
    /// assert!(free <= total);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        let (mut free, mut total) = (0, 0);
        let label = || self.inner.label();
        // SAFETY: the context is current, both outputs outlive the call.
        self.call("cuMemGetInfo", label, |driver| unsafe { driver.cuMemGetInfo(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// The limits that the device sets for launches. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let limits = ctx.limits();
    /// assert!(limits.max_threads_per_block >= 512);
    /// println!("clusters: {}", limits.cluster_launch);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn limits(&self) -> &DeviceLimits {
        &self.inner.limits
    }

    /// The device's ordinal on its driver. No driver call.
    pub fn ordinal(&self) -> u32 {
        self.inner.device.ordinal()
    }

    /// The driver. No driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// assert!(ctx.driver().has("cuInit"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn driver(&self) -> &Arc<Driver> {
        &self.inner.driver
    }

    /// The newest CUDA version that the driver supports, in the format of `cuDriverGetVersion`: 13000 is 13.0. No
    /// driver call.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// let version = ctx.driver_version();
    /// println!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn driver_version(&self) -> u32 {
        self.inner.driver_version
    }

    /// The raw context, valid as long as this handle lives. No driver call.
    pub fn raw(&self) -> CUcontext {
        self.inner.raw
    }

    /// The raw device. No driver call.
    pub fn raw_device(&self) -> CUdevice {
        self.inner.device.raw()
    }

    /// Whether both are handles to the same context on the same driver.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What distinguishes this context from all others, as long as a handle lives.
    #[inline(always)]
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    /// Makes the context current on this thread if it is not already.
    ///
    /// Calls of this crate do so themselves; call it before your own raw driver calls.
    ///
    /// Driver calls: `cuCtxGetCurrent`, and `cuCtxSetCurrent` only if another context was current.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// # let ctx = CudaContext::new(0)?;
    /// ctx.bind()?; // for calls that do not go through this crate
    /// let mut current = std::ptr::null_mut();
    /// // SAFETY: `current` outlives the call.
    /// unsafe { ctx.driver().cuCtxGetCurrent(&mut current) };
    /// assert_eq!(current, ctx.raw());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[inline]
    pub fn bind(&self) -> Result<(), Error> {
        self.inner.bind()
    }

    /// Like [`bind`](Self::bind), for the driver function `call`, which an error may name.
    #[inline]
    pub(crate) fn enter(&self, call: &'static str) -> Result<(), Error> {
        if self.inner.fault.is_known() {
            return self.enter_slowly(call, None);
        }
        let (code, is_current) = self.inner.current();
        if is_current { Ok(()) } else { self.enter_slowly(call, Some(code)) }
    }

    /// What is not in every function that calls the driver: another context is current, or the answer is an error.
    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, call: &'static str, code: Option<CUresult>) -> Result<(), Error> {
        let bound = match code {
            Some(code) => self.inner.bind_slow(code),
            None => self.inner.fault.check(),
        };
        bound.or_else(|error| host_call::refuse(call).and(Err(error)))
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
        self.traced(name, asked, call)
    }

    /// Like [`call`](Self::call), for what gives something back: also where the context cannot be made current. It may
    /// be current all the same, and nobody asks again. After a fork nothing is released: some drivers crash there.
    pub(crate) fn give_back(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        self.enter_to_release(name)?;
        // Whoever drops something does not know who captures: it must not break a capture of other code either.
        self.traced(name, asked, |driver| outside_captures(self, || call(driver)))
    }

    /// Fails only where nothing can be released.
    fn enter_to_release(&self, name: &'static str) -> Result<(), Error> {
        match self.enter(name) {
            Err(error) if error.is_sticky() || error.is_forked() || host_call::is_running() => Err(error),
            _ => Ok(()),
        }
    }

    /// The call itself, and the check of its answer.
    #[inline]
    fn traced(
        &self,
        name: &'static str,
        asked: impl FnOnce() -> String,
        call: impl FnOnce(&Driver) -> CUresult,
    ) -> Result<(), Error> {
        let (span, asked) = trace::call(name, Some(self.ordinal()), asked);
        let code = span.inside(|| despite_captures(self, || call(&self.inner.driver)));
        self.check(code, name, asked)
    }

    /// Turns the driver's result code for a call on this context into a `Result`; remembers a fault.
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

    /// Events between two uses.
    #[cfg(feature = "async")]
    pub(super) fn events(&self) -> &super::event::EventPool {
        &self.inner.events
    }

    /// An error if a kernel of this context faulted. No driver call.
    pub(crate) fn faulted(&self) -> Result<(), Error> {
        self.inner.fault.check()
    }

    /// What is known of its streams.
    pub(super) fn work(&self) -> &Work {
        &self.inner.work
    }

    /// What is told of a fault.
    pub(super) fn fault(&self) -> &FaultState {
        &self.inner.fault
    }

    /// Releases the context now if this is the last handle to it, and reports any error.
    ///
    /// Driver call, for the last handle: `cuDevicePrimaryCtxRelease`, or `cuCtxDestroy` for a context that was created
    /// here. None for one that other code owns.
    ///
    /// ```
    /// use cuda_launch::CudaDevice;
    /// use cuda_launch::context::ContextOptions;
    /// # let device = CudaDevice::new(0)?;
    /// device.create_context(&ContextOptions::default())?.close()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver; the handle is released in any case.
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.debt().pay())
    }
}

/// The open contexts: there is one `ContextInner` for a driver and raw context, so that handles of one context are copies
/// of one `Arc`, and comparing their addresses compares contexts. Each is beside the address of its driver: who looks for a context
/// holds those that it looks at for a moment, and those of another driver must not notice.
static OPEN: Mutex<Vec<(usize, Weak<ContextInner>)>> = Mutex::new(Vec::new());

/// [`OPEN`], locked.
///
/// What was looked at is dropped after the lock: it may turn out to be the last handle, and its end may run any code.
struct Open {
    list: MutexGuard<'static, Vec<(usize, Weak<ContextInner>)>>,
    seen: Vec<Arc<ContextInner>>,
}

impl Open {
    fn lock() -> Self {
        // Nothing below the lock panics; a poisoned lock would still hold a whole list.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, context)| context.strong_count() != 0);
        Self { list: open, seen: Vec::new() }
    }

    fn find(
        &mut self,
        driver: &Arc<Driver>,
        wanted: impl Fn(&ContextInner) -> bool,
    ) -> Option<Arc<ContextInner>> {
        let driver = Arc::as_ptr(driver).addr();
        let of_driver = self.list.iter().filter(|(other, _)| *other == driver);
        self.seen.extend(of_driver.filter_map(|(_, context)| context.upgrade()));
        self.seen.iter().find(|context| wanted(context)).cloned()
    }

    /// See [`CudaContext::adopt`]; an error comes with the hold, to be given up when the list is not locked.
    fn adopt(
        &mut self,
        device: &CudaDevice,
        raw: CUcontext,
        hold: Hold,
    ) -> Result<CudaContext, (Error, Hold)> {
        if let Some(inner) = self.find(device.driver(), |c| c.raw == raw) {
            inner.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
            return Ok(CudaContext { inner });
        }
        match ContextInner::new(device.clone(), raw) {
            Ok(mut inner) => {
                inner.holds.get_mut().unwrap_or_else(PoisonError::into_inner).push(hold);
                let inner = Arc::new(inner);
                self.list.push((Arc::as_ptr(device.driver()).addr(), Arc::downgrade(&inner)));
                Ok(CudaContext { inner })
            }
            Err(error) => Err((error, hold)),
        }
    }
}

impl ContextInner {
    fn new(device: CudaDevice, raw: CUcontext) -> Result<Self, Error> {
        let driver = device.driver().clone();
        let label = || format!("device {}", device.ordinal());
        let version = driver.version().map_err(|code| failed(code, "cuDriverGetVersion", label()))?;
        let limits = DeviceLimits::query(|a| device.attribute(a))?;
        Ok(Self {
            raw,
            driver,
            driver_version: u32::try_from(version).unwrap_or(0),
            device,
            limits,
            holds: Mutex::default(),
            process: std::process::id(),
            fault: FaultState::default(),
            work: Work::default(),
            #[cfg(feature = "async")]
            events: Default::default(),
        })
    }

    fn has(&self, wanted: impl Fn(&Hold) -> bool) -> bool {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).iter().any(wanted)
    }

    /// See [`CudaContext::bind`].
    #[inline]
    fn bind(&self) -> Result<(), Error> {
        self.fault.check()?;
        let (code, is_current) = self.current();
        if is_current { Ok(()) } else { self.bind_slow(code) }
    }

    /// Whether it is current on this thread, and what the driver answered.
    #[inline]
    fn current(&self) -> (CUresult, bool) {
        let mut current = std::ptr::null_mut();
        // SAFETY: `current` outlives the call.
        let code = unsafe { self.driver.cuCtxGetCurrent(&mut current) };
        (code, code == CUresult::SUCCESS && current == self.raw)
    }

    #[cold]
    fn bind_slow(&self, code: CUresult) -> Result<(), Error> {
        if code != CUresult::SUCCESS {
            return Err(self.failed(code, "cuCtxGetCurrent", self.label()));
        }
        // The driver would leave it current on a thread of its own.
        host_call::refuse("cuCtxSetCurrent")?;
        // SAFETY: the context lives: `holds`, or `Debt` on its way to the driver, keep it.
        match unsafe { self.driver.cuCtxSetCurrent(self.raw) } {
            CUresult::SUCCESS => Ok(()),
            code => Err(self.failed(code, "cuCtxSetCurrent", self.label())),
        }
    }

    /// The error for a result code of the driver: a fault is remembered, and a fork is distinguished from a missing
    /// `cuInit`.
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
        format!("device {}", self.device.ordinal())
    }

    /// What is held, to be released.
    fn debt(&mut self) -> Debt {
        let holds = std::mem::take(self.holds.get_mut().unwrap_or_else(PoisonError::into_inner));
        // Not once more after `close`, when the context is gone: to bind it then ends in a crash of the driver.
        if !holds.is_empty() && !host_call::is_running() && self.process == std::process::id() {
            // Also where it cannot be bound: nobody could be told.
            let _ = self.bind();
            #[cfg(feature = "async")]
            self.events.empty(&self.driver);
            self.work.end(&self.driver);
        }
        Debt::new(holds, &self.device, self.raw)
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        host_call::forget(std::ptr::from_ref(self).addr());
        let debt = self.debt();
        // An error here cannot be reported, and the process goes on without the context: `close` reports.
        host_call::outside(move || drop(debt.pay()));
    }
}
