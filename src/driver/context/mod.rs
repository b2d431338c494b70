//! Contexts: a device's primary one, others, and those that other code owns.

#![allow(unsafe_code)] // Calls of the driver with live handles: `ContextInner` keeps the context until it drops.

pub(in crate::driver) mod call;
pub(in crate::driver) mod create;
pub(in crate::driver) mod flags;
pub(in crate::driver) mod info;
pub(in crate::driver) mod open;
pub(in crate::driver) mod primary;
pub(in crate::driver) mod settings;
pub(in crate::driver) mod work;

use cuda_driver_sys::{CUcontext, CUdevice, Driver, process};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::capture::open::ContextWait;
use super::choice::default_driver;
use super::device::CudaDevice;
use super::fault::FaultState;
use super::hold::{ContextEnd, Hold, OwnObjects};
use super::host_call;
use super::limits::DeviceLimits;
use super::stream::{CudaStream, StreamFlags};
use crate::error::{Error, check, failed};
use open::Open;
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
    /// Lives as long as this value: `holds` keeps it, which `debt` takes at this value's end, or as `close` takes the
    /// last handle. One lent without an owner lives until that debt is paid, by duty 2 of `CudaContext::from_raw`.
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
    /// See [`CudaContext::is_green_beside`].
    green_beside: AtomicBool,
    /// Events between two uses.
    #[cfg(feature = "async")]
    events: super::event::EventPool,
}

// SAFETY: a CUcontext may be used from every thread: of what a driver makes, its documents except graphs alone
// ("Graph object thread safety"). The rest is Send.
unsafe impl Send for ContextInner {}
// SAFETY: as above; the raw handle is never changed, and what changes of the rest is behind locks, in a `OnceLock`, or
// atomic.
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
        // SAFETY: the driver named the device (`CudaDevice::raw`); `raw` is a local, which outlives the call.
        let code = unsafe { driver.cuDevicePrimaryCtxRetain(&mut raw, device.raw()) };
        check(code, "cuDevicePrimaryCtxRetain", || format!("device {ordinal}"))?;
        // SAFETY: 1: the driver has just retained `raw`, the primary context of this device; nobody else gives that
        // back.
        let adopted = unsafe { open.adopt(&device, raw, Hold::Retained) };
        drop(open);
        // SAFETY: 1: that hold of `raw`, which came back with the error: no handle relies on it.
        adopted.map_err(|(error, hold)| unsafe { hold.give_up(&device, raw, error) })
    }

    /// A handle to a live context: an existing one, or a new one. `hold` is released when the context's last handle is
    /// dropped, or if this fails.
    ///
    /// # Safety
    /// 1. `raw` is a live context of this driver and device, and `hold` a hold of it. One without an owner means that
    ///    it lives as duty 2 of [`CudaContext::from_raw`] says.
    pub(super) unsafe fn adopt(device: CudaDevice, raw: CUcontext, hold: Hold) -> Result<Self, Error> {
        // SAFETY: 1: the caller's duty 1.
        let adopted = unsafe { Open::lock().adopt(&device, raw, hold) };
        // SAFETY: 1: the hold of `raw`, by the caller's duty 1, which came back with the error: no handle relies on it.
        adopted.map_err(|(error, hold)| unsafe { hold.give_up(&device, raw, error) })
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
    /// 1. The context has been retained once for this value, and nothing else releases that.
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
    /// Objects that were dropped earlier but could not be freed then are freed now, on another thread. This waits for that, too, but for
    /// at most a second: the `Drop` of a value that an operation kept may take a lock that the caller holds.
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
    /// A stream of the context is being captured, by this thread or another one ([`Error::is_refused_in_capture`]); the
    /// first fault of that work, which is sticky; or a panic in a host function of one of its streams.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.drain()?;
        // What could not be given back earlier.
        super::park::sweep_and_wait();
        host_call::raise_of_context(self.identity())
    }

    /// Waits as [`synchronize`](Self::synchronize), and leaves panics in host functions for the next one to tell.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        let _alone = ContextWait::begin(self, "cuCtxSynchronize")?;
        let label = || self.inner.label();
        // SAFETY: `call` made current the context that the call waits for.
        let wait = || self.call("cuCtxSynchronize", label, |driver| unsafe { driver.cuCtxSynchronize() });
        self.settle_by(wait)
    }

    /// Waits until no work in the context runs any more: a fault ends it, too.
    ///
    /// Driver call: `cuCtxSynchronize`.
    pub(crate) fn end_of_work(&self) -> Result<(), Error> {
        self.drain().or_else(|error| if error.is_sticky() { Ok(()) } else { Err(error) })
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

    /// Events between two uses.
    #[cfg(feature = "async")]
    pub(super) fn events(&self) -> &super::event::EventPool {
        &self.inner.events
    }

    /// What is known of its streams.
    pub(super) fn work(&self) -> &Work {
        &self.inner.work
    }

    /// Whether a green context of its device has been open beside it. Kernels of a primary context can be launched while a green one is
    /// current, and the other way round, and the default streams are then those of the current context: so a launch on them has to
    /// make its own context current.
    pub(super) fn is_green_beside(&self) -> bool {
        self.inner.green_beside.load(Ordering::SeqCst)
    }

    /// Notes that this context is green: see [`CudaContext::is_green_beside`].
    pub(super) fn mark_green(&self) {
        // Contexts that are opened from here on find this one.
        self.inner.green_beside.store(true, Ordering::SeqCst);
        // Cloned: what is dropped below may be the last handle, whose drop may take the lock.
        let open: Vec<_> = Open::lock().of_device(&self.inner.device).cloned().collect();
        for context in open {
            context.green_beside.store(true, Ordering::SeqCst);
            // Streams that are made from here on ask for the flag.
            for stream in context.fault.streams() {
                CudaStream::of(stream).needs_its_context();
            }
        }
    }

    /// The state of the context after a fault.
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
        let Some(mut last) = Arc::into_inner(self.inner) else { return Ok(()) };
        // The drop that follows passes it on.
        host_call::refuse(last.last_call())?;
        last.debt().pay()
    }
}

impl ContextInner {
    /// What all handles of a context share, before there is anything that it holds.
    ///
    /// # Safety
    /// 1. `raw` is a live context of this driver and device, and lives as long as the result.
    unsafe fn new(device: CudaDevice, raw: CUcontext) -> Result<Arc<Self>, Error> {
        let driver = device.driver().clone();
        let label = || format!("device {}", device.ordinal());
        let version = driver.version().map_err(|code| failed(code, "cuDriverGetVersion", label()))?;
        let limits = DeviceLimits::query(&device)?;
        Ok(Arc::new(Self {
            raw,
            driver,
            driver_version: u32::try_from(version).unwrap_or(0),
            device,
            limits,
            holds: Mutex::default(),
            process: process::id(),
            fault: FaultState::default(),
            work: Work::default(),
            green_beside: AtomicBool::new(false),
            #[cfg(feature = "async")]
            events: Default::default(),
        }))
    }

    fn has(&self, wanted: impl Fn(&Hold) -> bool) -> bool {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).iter().any(wanted)
    }

    fn label(&self) -> String {
        format!("device {}", self.device.ordinal())
    }

    /// What is held, and what the context made for itself, to be released. Nothing after `close`, when the context is gone: to make it
    /// current then ends in a crash of the driver.
    fn debt(&mut self) -> ContextEnd {
        let holds = std::mem::take(self.holds.get_mut().unwrap_or_else(PoisonError::into_inner));
        let own = OwnObjects {
            #[cfg(feature = "async")]
            events: std::mem::take(&mut self.events),
            freeing: self.work.take_freeing(),
        };
        let is_faulty = self.fault.is_known();
        ContextEnd {
            holds,
            own,
            device: self.device.clone(),
            raw: self.raw,
            process: self.process,
            is_faulty,
        }
    }

    /// The call that ends it.
    fn last_call(&mut self) -> &'static str {
        let holds = self.holds.get_mut().unwrap_or_else(PoisonError::into_inner);
        if holds.iter().any(|hold| matches!(hold, Hold::Created)) {
            "cuCtxDestroy"
        } else {
            "cuDevicePrimaryCtxRelease"
        }
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        host_call::forget(std::ptr::from_ref(self).addr());
        let debt = self.debt();
        // An error cannot be reported here, and the process continues without the context; `close` reports it.
        host_call::outside(Box::new(move || drop(debt.pay())));
    }
}
