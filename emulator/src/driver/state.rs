//! The one state of the process, as in a real driver: made by the first `cuInit`, never taken down.

use super::check;
use super::config::Config;
use super::entry::Outcome;
use super::fault::FaultLatch;
use crate::check::Checker;
use crate::memory::Memory;
use cuda_driver_sys::{CUdevice, CUresult};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Everything the driver knows.
pub(super) struct State {
    /// The process that called `cuInit`: a forked child cannot use it.
    process: u32,
    /// What the environment asked for.
    pub(super) config: Config,
    /// The memory of each device, by ordinal.
    pub(super) devices: Vec<Arc<Memory>>,
    /// The memory of the first device; any of them finds the addresses of all.
    pub(super) memory: Arc<Memory>,
    /// The kernel fault that ended it all, if one did.
    pub(super) fault: FaultLatch,
    /// What kernels are checked for, and what was found.
    pub(super) checker: Option<Arc<Checker>>,
    /// What a context takes with it when it ends, of each family.
    pub(super) belongings: &'static [Belongings],
    ids: AtomicU64,
}

static STATE: OnceLock<State> = OnceLock::new();

/// Gives back what the context of that number owns, which is at its end.
pub(super) type Belongings = fn(&State, u64);

impl State {
    fn new(belongings: &'static [Belongings]) -> State {
        let config = Config::from_environment();
        let checker = check::checker(config.checks);
        let memories = Memory::of_devices(config.memory, config.devices, checker.clone());
        let devices: Vec<_> = memories.into_iter().map(Arc::new).collect();
        State {
            process: std::process::id(),
            memory: devices.first().map_or_else(|| Arc::new(Memory::new(0)), Arc::clone),
            devices,
            fault: FaultLatch::default(),
            checker,
            belongings,
            ids: AtomicU64::new(1),
            config,
        }
    }

    /// The memory of the device with that ordinal.
    pub(super) fn memory_of(&self, device: CUdevice) -> Outcome<&Arc<Memory>> {
        let known = usize::try_from(device).ok().and_then(|index| self.devices.get(index));
        known.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// A number that no other object of this process has.
    pub(super) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

/// Locks; a panic elsewhere does not make the driver unusable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `cuInit`.
pub(super) fn initialize(belongings: &'static [Belongings]) -> Outcome {
    let state = STATE.get_or_init(|| State::new(belongings));
    admissible(state).map(|_| ())
}

/// The state, if the driver is initialised: for code that runs outside a driver function.
pub(super) fn get() -> Option<&'static State> {
    STATE.get()
}

fn admissible(state: &'static State) -> Outcome<&'static State> {
    if state.process != std::process::id() {
        return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
    }
    if state.config.devices == 0 { Err(CUresult::CUDA_ERROR_NO_DEVICE) } else { Ok(state) }
}

thread_local! {
    static CALLBACK: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Whether this thread is in a callback of a stream, where most functions answer `CUDA_ERROR_NOT_PERMITTED`.
pub(super) fn in_callback() -> bool {
    CALLBACK.get().is_some()
}

/// The handle of the stream whose callback this thread is in.
pub(super) fn callback_stream() -> Option<usize> {
    CALLBACK.get()
}

/// Runs a callback of the stream with that handle.
pub(super) fn enter_callback(stream: usize, callback: impl FnOnce()) {
    let outer = CALLBACK.replace(Some(stream));
    callback();
    CALLBACK.set(outer);
}

/// One call of a driver function.
pub(super) struct Call {
    /// The function, for messages.
    pub(super) name: &'static str,
}

impl Call {
    /// For functions that need no `cuInit`.
    pub(super) fn unchecked(name: &'static str) -> Call {
        Call { name }
    }

    /// For all others: `CUDA_ERROR_NOT_INITIALIZED` before `cuInit` and in a forked child.
    pub(super) fn admit(name: &'static str) -> Outcome<Call> {
        match STATE.get().map(admissible) {
            Some(Ok(_)) => Ok(Call { name }),
            _ => Err(CUresult::CUDA_ERROR_NOT_INITIALIZED),
        }
    }

    /// The state.
    pub(super) fn state(&self) -> Outcome<&'static State> {
        STATE.get().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)
    }

    /// Answers with the fault of an earlier kernel, if there was one: it ends the use of CUDA in this process.
    pub(super) fn healthy(&self) -> Outcome<&'static State> {
        let state = self.state()?;
        state.fault.check()?;
        Ok(state)
    }
}
