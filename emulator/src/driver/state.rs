//! The state of a driver. That of the process is created by the first `cuInit` and never destroyed, as in a real driver; that of an
//! instance is dropped with it.

use super::check;
use super::config::{Config, DRIVER_VERSION};
use super::entry::Outcome;
use super::fault::FaultLatch;
use super::slot::{self, PerSlot, PerThread, per_slot, per_thread};
use super::{logs, profile, schedule};
use crate::architecture::Architecture;
use crate::check::Checker;
use crate::memory::Memory;
use crate::profile::Profiler;
use crate::schedule::Scheduler;
use cuda_driver_sys::{CUdevice, CUresult, process};
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// Everything the driver knows.
pub(super) struct State {
    /// The process that called `cuInit`: a forked child cannot use it.
    process: u32,
    /// The configuration from the environment.
    pub(super) config: Config,
    /// The memory of each device, by ordinal.
    pub(super) devices: Vec<Arc<Memory>>,
    /// The memory of the first device; any of them finds the addresses of all.
    pub(super) memory: Arc<Memory>,
    /// The kernel fault after which nothing works, if there was one.
    pub(super) fault: FaultLatch,
    /// The checks of kernels, and their findings.
    pub(super) checker: Option<Arc<Checker>>,
    /// The profiler of kernels, if there is one.
    pub(super) profiler: Option<Arc<Profiler>>,
    /// The scheduler of launches, if they run under several orders.
    pub(super) scheduler: Option<Arc<Scheduler>>,
    /// For each family of functions, the cleanup when a context is destroyed.
    pub(super) belongings: &'static [ContextCleanup],
}

/// The state of the process.
static PROCESS: OnceLock<State> = OnceLock::new();

/// The state of an instance.
struct Known {
    /// Its configuration; `None` if there is no instance.
    config: Option<Config>,
    /// Since its `cuInit`.
    state: Option<Arc<State>>,
}

/// The states of the instances.
static INSTANCES: PerSlot<RwLock<Known>> = per_slot!(RwLock::new(Known { config: None, state: None }));

/// A state, wherever it lives.
#[derive(Clone)]
pub(super) enum Shared {
    Process(&'static State),
    Instance(Arc<State>),
}

impl Deref for Shared {
    type Target = State;

    fn deref(&self) -> &State {
        match self {
            Shared::Process(state) => state,
            Shared::Instance(state) => state,
        }
    }
}

/// Releases everything that the context with that number owns; called when the context is destroyed.
pub(super) type ContextCleanup = fn(&State, u64);

impl State {
    fn new(config: Config, belongings: &'static [ContextCleanup]) -> State {
        let (checker, profiler) = (check::checker(&config), profile::profiler(&config));
        let memories =
            Memory::of_devices(config.memory, config.devices, slot::share, checker.clone(), profiler.clone());
        let scheduler = schedule::scheduler(&config);
        let with_orders = |memory: Memory| match &scheduler {
            Some(scheduler) => memory.with_scheduler(Arc::clone(scheduler)),
            None => memory,
        };
        let devices: Vec<_> = memories
            .into_iter()
            .map(with_orders)
            .zip(config.architectures())
            .map(|(memory, architecture)| Arc::new(memory.with_architecture(architecture)))
            .collect();
        State {
            process: process::id(),
            memory: devices.first().map_or_else(|| Arc::new(Memory::new(0)), Arc::clone),
            devices,
            fault: FaultLatch::default(),
            checker,
            profiler,
            scheduler,
            belongings,
            config,
        }
    }

    /// The memory of the device with that ordinal.
    pub(super) fn memory_of(&self, device: CUdevice) -> Outcome<&Arc<Memory>> {
        let known = usize::try_from(device).ok().and_then(|index| self.devices.get(index));
        known.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// The architecture of the device with that ordinal.
    pub(super) fn architecture_of(&self, device: CUdevice) -> Outcome<Architecture> {
        Ok(self.memory_of(device)?.architecture())
    }

    /// A number that no other object of this process has, of whatever instance.
    pub(super) fn id(&self) -> u64 {
        static IDS: AtomicU64 = AtomicU64::new(1);
        IDS.fetch_add(1, Ordering::Relaxed)
    }
}

/// Locks a mutex, ignoring poisoning: a panic elsewhere does not make the driver unusable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `cuInit`.
pub(super) fn initialize(belongings: &'static [ContextCleanup]) -> Outcome<Shared> {
    let state = match slot::current() {
        slot::PROCESS => {
            Shared::Process(PROCESS.get_or_init(|| State::new(Config::from_environment(), belongings)))
        }
        _ => {
            let mut known = INSTANCES.write().unwrap_or_else(PoisonError::into_inner);
            let config = known.config.clone().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
            let state = known.state.get_or_insert_with(|| Arc::new(State::new(config, belongings)));
            Shared::Instance(Arc::clone(state))
        }
    };
    admissible(state.clone()).inspect_err(|code| match *code {
        CUresult::CUDA_ERROR_INVALID_VALUE => {
            logs::because(state.config.invalid.join("; "));
            logs::advise("correct the variable, or unset it");
        }
        CUresult::CUDA_ERROR_NO_DEVICE => {
            logs::because("the emulator was told to have no device".to_owned());
            logs::advise("unset CUDA_LAUNCH_EMULATOR_DEVICES and CUDA_EMULATOR_DEVICES, or let the program ask for a device");
        }
        _ => {}
    })
}

/// The state, if the driver is initialised: for code that runs outside a driver function.
pub(super) fn get() -> Option<Shared> {
    match slot::current() {
        slot::PROCESS => PROCESS.get().map(Shared::Process),
        _ => known().state.clone().map(Shared::Instance),
    }
}

fn known() -> RwLockReadGuard<'static, Known> {
    INSTANCES.read().unwrap_or_else(PoisonError::into_inner)
}

/// The version that the driver reports.
pub(super) fn version() -> c_int {
    match slot::current() {
        slot::PROCESS => DRIVER_VERSION,
        _ => known().config.as_ref().map_or(DRIVER_VERSION, |config| config.version),
    }
}

/// The newest PTX that the driver reads: what was asked for, or what a driver of its version reads.
pub(super) fn newest_ptx() -> (u32, u32) {
    let asked = match slot::current() {
        slot::PROCESS => PROCESS.get().and_then(|state| state.config.newest_ptx),
        _ => known().config.as_ref().and_then(|config| config.newest_ptx),
    };
    asked.or_else(|| cuda_driver_sys::newest_ptx(version() as u32)).unwrap_or((7, 0))
}

/// The current slot is an instance's, which has no state before its `cuInit`; or with `None` no instance's any more.
pub(super) fn replace(config: Option<Config>) {
    let known = Known { config, state: None };
    let before = std::mem::replace(&mut *INSTANCES.write().unwrap_or_else(PoisonError::into_inner), known);
    drop(before);
}

/// Whether this is a forked child of the process that called `cuInit`.
pub(super) fn is_forked() -> bool {
    get().is_some_and(|state| state.process != process::id())
}

fn admissible(state: Shared) -> Outcome<Shared> {
    if state.process != process::id() {
        return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
    }
    if !state.config.invalid.is_empty() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if state.config.devices == 0 { Err(CUresult::CUDA_ERROR_NO_DEVICE) } else { Ok(state) }
}

thread_local! {
    static CALLBACK: PerThread<Option<usize>> = const { per_thread!(None) };
}

/// Whether this thread is in a callback of a stream, where most functions return `CUDA_ERROR_NOT_PERMITTED`.
pub(super) fn in_callback() -> bool {
    callback_stream().is_some()
}

/// The handle of the stream whose callback this thread is in.
pub(super) fn callback_stream() -> Option<usize> {
    CALLBACK.with(PerThread::get)
}

/// Runs a callback of the stream with that handle. It is code of the program, which does not work for an instance.
pub(super) fn enter_callback(stream: usize, callback: impl FnOnce()) {
    let outer = CALLBACK.with(|own| own.replace(Some(stream)));
    {
        let _outside = slot::enter(slot::PROCESS);
        callback();
    }
    CALLBACK.with(|own| own.replace(outer));
}

/// One call of a driver function.
pub(super) struct Call {
    /// The function, for messages.
    pub(super) name: &'static str,
    /// The state of the driver that is called, if it is initialised.
    state: Option<Shared>,
}

impl Call {
    /// For functions that need no `cuInit`.
    pub(super) fn unchecked(name: &'static str) -> Call {
        Call { name, state: get() }
    }

    /// For all others: `CUDA_ERROR_NOT_INITIALIZED` before `cuInit` and in a forked child.
    pub(super) fn admit(name: &'static str) -> Outcome<Call> {
        match get().map(admissible) {
            Some(Ok(state)) => Ok(Call { name, state: Some(state) }),
            _ => Err(CUresult::CUDA_ERROR_NOT_INITIALIZED),
        }
    }

    /// The state.
    pub(super) fn state(&self) -> Outcome<&Shared> {
        self.state.as_ref().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)
    }

    /// Returns the fault of an earlier kernel, if there was one, after which this driver cannot be used.
    pub(super) fn healthy(&self) -> Outcome<&Shared> {
        let state = self.state()?;
        state.fault.check()?;
        Ok(state)
    }
}
