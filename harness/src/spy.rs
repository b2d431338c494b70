//! [`Spy`]: a driver in front of another.

use crate::call::Call;
use crate::call::Calls;
use crate::error::Error;
use crate::fault::{Active, Fault, Injected};
use crate::functions;
use crate::intercept::{Inner, Listener, State};
use crate::ledger::{Entry, Ledger};
use crate::shims;
use crate::slots::Lease;
use cuda_driver_sys::{CUresult, Driver, FUNCTIONS, newest_ptx};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A driver in front of another: it records each call, and can make calls fail.
///
/// [`driver`](Self::driver) is a table like any other: for `CudaContext::with_driver`, or for code that uses `cuda_driver_sys`. It sees the
/// calls of all threads, and no other spy's. Up to 16 spies can be alive at a time; a spy is alive as long as it or one of its drivers
/// is. Threads need not be registered with it.
///
/// ```
/// use cuda_harness::Spy;
///
/// let spy = Spy::over(&cuda_emulator::driver())?;
/// let cuda = spy.driver();
/// let (mut context, mut memory) = (std::ptr::null_mut(), 0);
/// unsafe {
///     cuda.cuInit(0);
///     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
///     cuda.cuCtxSetCurrent(context);
///     cuda.cuMemAlloc(&mut memory, 4096);
///     cuda.cuMemsetD8(memory + 16, 7, 1);
/// }
/// assert_eq!(spy.calls().count("cuMemAlloc"), 1);
/// assert_eq!(
///     spy.snapshot(),
///     "cuInit(Flags: 0)
/// cuDevicePrimaryCtxRetain(pctx -> context#1, dev: 0)
/// cuCtxSetCurrent(ctx: context#1)
/// cuMemAlloc_v2(dptr -> memory#1, bytesize: 4096)
/// cuMemsetD8_v2(dstDevice: memory#1+16, uc: 7, N: 1)
/// "
/// );
/// // The memory and the context were not released.
/// assert_eq!(spy.ledger().live().len(), 2);
/// # unsafe { cuda.cuMemFree(memory); cuda.cuDevicePrimaryCtxRelease(0); }
/// # Ok::<(), cuda_harness::Error>(())
/// ```
pub struct Spy {
    inner: Arc<Inner>,
    driver: Arc<Driver>,
}

impl Spy {
    /// A spy over a driver, which has the same functions.
    ///
    /// # Errors
    ///
    /// [`Error::NoSlot`] if 16 spies are alive, and none is dropped within a minute.
    pub fn over(driver: &Arc<Driver>) -> Result<Spy, Error> {
        SpyOptions::new().over(driver)
    }

    /// A spy over the emulator.
    ///
    /// # Errors
    ///
    /// As for [`over`](Self::over).
    #[cfg(feature = "emulator")]
    pub fn on_emulator() -> Result<Spy, Error> {
        Spy::over(&cuda_emulator::driver())
    }

    /// The driver whose calls the spy sees; always the same one.
    ///
    /// Its functions are valid as long as the driver, a clone of it or the spy exists. A function pointer kept for longer returns
    /// `CUDA_ERROR_DEINITIALIZED`, or calls a later spy.
    pub fn driver(&self) -> Arc<Driver> {
        self.driver.clone()
    }

    /// The driver that does the work.
    pub fn base(&self) -> &Arc<Driver> {
        &self.inner.base
    }

    /// The calls since the spy was created or [cleared](Self::clear).
    pub fn calls(&self) -> Calls {
        Calls(self.inner.lock().calls.iter().cloned().collect())
    }

    /// How many calls of a function there are in the record, by symbol or by the header's name.
    pub fn count(&self, name: &str) -> usize {
        self.calls().count(name)
    }

    /// [`Calls::snapshot`] of the record.
    pub fn snapshot(&self) -> String {
        self.calls().snapshot()
    }

    /// Discards the recorded calls. Numbers and names continue, and the ledger is kept.
    pub fn clear(&self) {
        self.inner.lock().calls.clear();
    }

    /// Runs `work`, and returns its result with the calls made meanwhile, including those of other threads.
    ///
    /// ```
    /// # let spy = cuda_harness::Spy::over(&cuda_emulator::driver())?;
    /// # let cuda = spy.driver();
    /// let (version, calls) = spy.during(|| cuda.version());
    /// assert_eq!(calls.names(), ["cuDriverGetVersion"]);
    /// assert!(version.is_ok());
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> (R, Calls) {
        let before = self.inner.lock().count;
        let result = work();
        (result, self.calls().filter(|call| call.number() > before))
    }

    /// How many calls there were, kept or not: for `assert_at_most!`.
    #[doc(hidden)]
    pub fn made(&self) -> usize {
        self.inner.lock().count
    }

    /// The objects that were not released, and the mistakes of calls.
    pub fn ledger(&self) -> Ledger {
        let state = self.inner.lock();
        let live = state.objects.live().map(|(_, object)| object).filter(|object| object.is_owed());
        let live = live.map(Entry::of).collect();
        Ledger { live, problems: state.problems.clone() }
    }

    /// Makes calls fail from now on.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchFunction`] if the fault names a function that is not in the API, [`Error::NoShortAnswer`] if that has no short or
    /// malformed result, [`Error::SuccessIsNoFault`] if the calls should return `CUDA_SUCCESS` without being made, and [`Error::CallZero`]
    /// if it is for the 0th call.
    pub fn inject(&self, fault: Fault) -> Result<Injected, Error> {
        let active = Arc::new(Active::new(fault)?);
        self.inner.lock().faults.push(active.clone());
        Ok(Injected(active))
    }

    /// The faults that were injected, in that order, and not removed by [`heal`](Self::heal).
    pub fn injected(&self) -> Vec<Injected> {
        self.inner.lock().faults.iter().cloned().map(Injected).collect()
    }

    /// Removes all faults, including a sticky one that has occurred, and the memory limit.
    pub fn heal(&self) {
        let mut state = self.inner.lock();
        // Their predicates are dropped after the lock.
        let faults = std::mem::take(&mut state.faults);
        (state.sticky, state.budget) = (None, None);
        drop(state);
        drop(faults);
    }

    /// The code that all calls return because a [sticky](Fault::sticky) fault has occurred.
    pub fn sticky(&self) -> Option<CUresult> {
        self.inner.lock().sticky
    }

    /// Makes allocations of device memory return `CUDA_ERROR_OUT_OF_MEMORY` if the live ones would exceed `bytes` in sum.
    ///
    /// Device, pool, managed and physical memory count, with their requested sizes; arrays do not.
    pub fn limit_memory(&self, bytes: u64) {
        self.inner.lock().budget = Some(bytes);
    }

    /// The messages of [predicates](Fault::when) that panicked, each with the call that they were evaluated for.
    pub fn panics(&self) -> Vec<String> {
        self.inner.lock().panics.clone()
    }
}

impl fmt::Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spy").field("calls", &self.inner.lock().count).finish_non_exhaustive()
    }
}

/// How a spy is created.
///
/// ```
/// use cuda_harness::SpyOptions;
///
/// // What a driver of CUDA 11.8 has, and no pools.
/// let spy = SpyOptions::new().as_of(11_080).hide("cuMemPoolCreate").over(&cuda_emulator::driver())?;
/// assert!(!spy.driver().has("cuFuncGetParamInfo"));
/// assert!(!spy.driver().has("cuMemPoolCreate"));
/// assert_eq!(spy.driver().version(), Ok(11_080));
/// # Ok::<(), cuda_harness::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "`over` makes the spy"]
pub struct SpyOptions {
    hidden: BTreeSet<String>,
    version: Option<u32>,
    newest_ptx: Option<(u32, u32)>,
    backtraces: bool,
    keep: usize,
    patience: Duration,
    listener: Option<Listener>,
}

impl Default for SpyOptions {
    fn default() -> SpyOptions {
        SpyOptions {
            hidden: BTreeSet::new(),
            version: None,
            newest_ptx: None,
            backtraces: false,
            keep: usize::MAX,
            patience: Duration::from_secs(60),
            listener: None,
        }
    }
}

impl SpyOptions {
    /// A spy with all functions of its base.
    pub fn new() -> SpyOptions {
        SpyOptions::default()
    }

    /// The driver lacks this function, also for `cuGetProcAddress`; by symbol or by the header's name. A call of it returns
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`.
    pub fn hide(mut self, function: impl Into<String>) -> SpyOptions {
        self.hidden.insert(function.into());
        self
    }

    /// The driver has only the symbols of this version (`11_080` is 11.8), by
    /// `FunctionInfo::since`, and reports no newer version.
    ///
    /// A value of an enumeration that came later (an attribute of a device or of a launch, a limit) is `CUDA_ERROR_INVALID_VALUE` where it is
    /// an argument of its own, or the attribute of a launch. Values in other structures and lists, and flags, reach the driver.
    ///
    /// PTX of a `.version` that came later (11.8 reads 7.8, 12.0 reads 8.0, 13.0 reads 9.0) is `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`, and the
    /// error log of the call says which version it has. PTX inside a fatbin reaches the driver, which may choose other code there.
    pub fn as_of(mut self, version: u32) -> SpyOptions {
        self.version = Some(version);
        self
    }

    /// Refuses PTX after this version, major and minor, instead of after what drivers of the [version](Self::as_of) read. Its base must read it.
    ///
    /// ```
    /// use cuda_harness::SpyOptions;
    ///
    /// // The functions of CUDA 11.8, and PTX that its toolkit cannot make.
    /// let spy = SpyOptions::new().as_of(11_080).newest_ptx(8, 0).over(&cuda_emulator::driver())?;
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn newest_ptx(mut self, major: u32, minor: u32) -> SpyOptions {
        self.newest_ptx = Some((major, minor));
        self
    }

    /// Records where in the program each object was created, for the ledger. Costs about 10 microseconds per object.
    pub fn backtraces(mut self) -> SpyOptions {
        self.backtraces = true;
        self
    }

    /// Keeps only this many of the last calls; by default, all of them.
    pub fn keep(mut self, calls: usize) -> SpyOptions {
        self.keep = calls;
        self
    }

    /// Reports each call to a listener when it ends, on the thread that made it.
    ///
    /// The listener may query the spy, and call its base; a call of the spy's own driver would be reported in turn. If it panics, the
    /// call proceeds, and [`Spy::panics`] has the message.
    ///
    /// ```
    /// use cuda_harness::SpyOptions;
    ///
    /// let spy = SpyOptions::new().listen(|call| eprintln!("{call}")).over(&cuda_emulator::driver())?;
    /// assert!(spy.driver().version().is_ok()); // #1 [thread 1, 0.012 ms] cuDriverGetVersion(driverVersion -> 13000)
    /// # Ok::<(), cuda_harness::Error>(())
    /// ```
    pub fn listen(mut self, listener: impl Fn(&Call) + Send + Sync + 'static) -> SpyOptions {
        self.listener = Some(Listener(Arc::new(listener)));
        self
    }

    /// How long [`over`](Self::over) waits while the maximum number of spies are in use; a minute by default.
    pub fn patience(mut self, time: Duration) -> SpyOptions {
        self.patience = time;
        self
    }

    /// Creates the spy.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchFunction`] if a hidden one is not in the API; [`Error::NoSlot`] if the maximum number of spies are in use for longer
    /// than the [patience](Self::patience).
    pub fn over(&self, driver: &Arc<Driver>) -> Result<Spy, Error> {
        let mut hidden = BTreeSet::new();
        for name in &self.hidden {
            let function =
                functions::named(name).ok_or_else(|| Error::NoSuchFunction { name: name.clone() })?;
            hidden.insert(function.name);
        }
        let limit = self.version.unwrap_or(u32::MAX);
        let has = FUNCTIONS.iter().map(|function| {
            let name = function.name();
            let is_there = function.since <= limit || has_older_name(name, limit);
            is_there && !hidden.contains(name) && driver.has(name)
        });
        let lease = Lease::take(self.patience)?;
        let state = State::new(self.keep, self.backtraces);
        let inner = Arc::new(Inner {
            base: driver.clone(),
            slot: lease.slot(),
            has: has.collect(),
            version: self.version,
            newest_ptx: self.newest_ptx.or_else(|| newest_ptx(self.version?)),
            start: Instant::now(),
            listener: self.listener.clone(),
            state: Mutex::new(state),
        });
        lease.give(inner.clone());
        let driver = shims::driver(lease, &inner.has);
        Ok(Spy { inner, driver })
    }
}

/// Whether drivers of that version have the function under an older name, with which nothing else changed.
fn has_older_name(symbol: &str, version: u32) -> bool {
    symbol == "cuEventElapsedTime_v2" && version >= 2000
}
