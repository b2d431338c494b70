//! Emulators besides the process's own: each an [`Instance`].

mod end;
mod error;
mod options;

use cuda_driver_sys::{Driver, process};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;

use super::config::Config;
use super::live::LiveHandles;
use super::slot::{self, Entered};
use super::slot_use::{self, Lease};
use super::state::{self, lock};
use super::{
    faults, forget_written, live_handles, lookup, take_differences, take_findings, take_one_order,
    unsupported_calls,
};
use crate::check::Findings;
use crate::engine::Fault;
use crate::schedule::{OneOrder, ScheduleDifference};
pub use error::InstanceError;
pub use options::InstanceOptions;

/// A separate emulator, in addition to that of the process: its devices, memory, handles, faults, findings and log are not shared with
/// any other. Tests that run concurrently can each have one, and a fault affects only its own instance.
///
/// Handles and addresses of one instance are invalid in another, and in the process's emulator: they are refused as a driver refuses
/// handles that it never returned. Each thread has a stack of current contexts for each instance.
///
/// An instance exists as long as a clone of it or a clone of its [`Driver`]. Dropping the last waits for submitted work, then releases
/// everything, including pinned and managed memory: code that uses the bare functions must keep the driver as long as its objects.
/// A function pointer kept after that returns `CUDA_ERROR_DEINITIALIZED`, or calls a later instance. There can be 16 at a time.
///
/// ```
/// use cuda_driver_sys::CUresult;
/// use cuda_emulator::{Instance, InstanceOptions};
///
/// let small = InstanceOptions::new().memory(1 << 20).start()?;
/// let other = Instance::new()?;
/// let allocate = |instance: &Instance, bytes| {
///     let (cuda, mut context, mut memory) = (instance.driver(), std::ptr::null_mut(), 0);
///     unsafe {
///         cuda.cuInit(0);
///         cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
///         cuda.cuCtxSetCurrent(context);
///         cuda.cuMemAlloc(&mut memory, bytes)
///     }
/// };
/// assert_eq!(allocate(&small, 2 << 20), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
/// assert_eq!(allocate(&other, 2 << 20), CUresult::SUCCESS);
/// assert_eq!((small.live_handles().allocations, other.live_handles().allocations), (0, 1));
///
/// // As after the start of a process.
/// other.reset()?;
/// assert_eq!(other.live_handles().contexts, 0);
/// # Ok::<(), cuda_emulator::InstanceError>(())
/// ```
///
/// With `cuda_launch`, `CudaContext::with_driver(&instance.driver(), 0)` makes a context on it; with `cuda_harness`,
/// use `Spy::over(&instance.driver())` and `EveryFailure::run(&instance.driver(), ..)`.
#[derive(Clone)]
pub struct Instance {
    driver: Arc<Driver>,
    held: Arc<Held>,
}

/// The slot; the last one who drops this ends the instance.
struct Held {
    lease: Option<Lease>,
    config: Config,
    /// The process that created it. A forked child has none of its threads, and does not wait for its work.
    process: u32,
    /// Held during a reset.
    turn: Mutex<()>,
}

impl Instance {
    /// An instance configured by the environment; see [`InstanceOptions`] for what can be changed.
    ///
    /// # Errors
    ///
    /// [`InstanceError::NoSlot`] if the maximum number of instances are alive, and none is dropped within a minute.
    pub fn new() -> Result<Instance, InstanceError> {
        InstanceOptions::new().start()
    }

    fn on(lease: Lease, config: Config) -> Instance {
        let (slot, version) = (lease.slot(), config.version);
        begin(&lease, &config);
        let process = process::id();
        let held = Arc::new(Held { lease: Some(lease), config, process, turn: Mutex::new(()) });
        let driver = lookup::table_of(slot, version).with_owner(Arc::clone(&held));
        Instance { driver: Arc::new(driver), held }
    }

    /// Its driver. The first `cuInit` starts it, as in a process.
    pub fn driver(&self) -> Arc<Driver> {
        Arc::clone(&self.driver)
    }

    /// The objects that were created and not released: [`live_handles`](crate::live_handles) of this instance.
    pub fn live_handles(&self) -> LiveHandles {
        self.ask(live_handles)
    }

    /// The reports of all kernels that were stopped since the last [`reset`](Self::reset), in order.
    pub fn faults(&self) -> Vec<Arc<Fault>> {
        self.ask(faults)
    }

    /// The report of the kernel that was stopped last.
    pub fn last_fault(&self) -> Option<Arc<Fault>> {
        self.faults().pop()
    }

    /// The findings in kernels since the last call, by the checks enabled with [`InstanceOptions::checks`].
    pub fn take_findings(&self) -> Findings {
        self.ask(take_findings)
    }

    /// How launches differed in other orders since the last call, if [`InstanceOptions::schedules`] was set.
    pub fn take_differences(&self) -> Vec<ScheduleDifference> {
        self.ask(take_differences)
    }

    /// The kernels whose launches ran in the ordinary order only since the last call, although
    /// [`InstanceOptions::schedules`] was set.
    pub fn take_one_order(&self) -> Vec<OneOrder> {
        self.ask(take_one_order)
    }

    /// Marks bytes of device memory as uninitialised: [`forget_written`](crate::forget_written) of this instance.
    pub fn forget_written(&self, address: u64, bytes: u64) -> bool {
        self.ask(|| forget_written(address, bytes))
    }

    /// The functions that were called and that the emulator does not support.
    pub fn unsupported_calls(&self) -> Vec<&'static str> {
        self.ask(unsupported_calls)
    }

    /// Resets it to its initial state: waits for submitted work, releases everything and forgets a fault. As in a process that has
    /// just started, `cuInit` must be called first. In the meantime, calls by other threads return `CUDA_ERROR_DEINITIALIZED`.
    ///
    /// Earlier handles and device memory become invalid; so do objects of `cuda_launch`, which are best dropped first. Pinned and managed
    /// memory can still be read and written by the host until the instance is dropped.
    ///
    /// # Errors
    ///
    /// [`InstanceError::InCallback`] in a callback of this instance; [`InstanceError::Forked`] in a forked child.
    pub fn reset(&self) -> Result<(), InstanceError> {
        let Some(lease) = &self.held.lease else { return Ok(()) };
        if self.held.process != process::id() {
            return Err(InstanceError::Forked);
        }
        if slot_use::is_within(lease.slot()) {
            return Err(InstanceError::InCallback);
        }
        let _turn = lock(&self.held.turn);
        end::end(lease);
        begin(lease, &self.held.config);
        Ok(())
    }

    /// Asks the functions that are about the process's emulator, in this instance's slot.
    fn ask<T>(&self, question: impl FnOnce() -> T) -> T {
        let _entered: Option<Entered> = self.held.lease.as_ref().map(|lease| slot::enter(lease.slot()));
        question()
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = self.held.lease.as_ref().map(Lease::slot);
        f.debug_struct("Instance").field("slot", &slot).finish_non_exhaustive()
    }
}

/// The lease's slot has an instance from now on.
fn begin(lease: &Lease, config: &Config) {
    let entered = slot::enter(lease.slot());
    state::replace(Some(config.clone()));
    drop(entered);
    lease.open();
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_here = self.process == process::id();
        let Some(lease) = self.lease.take().filter(|_| is_here) else { return };
        let is_within = slot_use::is_within(lease.slot());
        let end = move || {
            end::end(&lease);
            end::end_for_good(&lease);
            lease.give_back();
        };
        if is_within {
            // Dropped by a callback of its own, for whose end it waits. Without a thread the slot stays taken.
            let _ = thread::Builder::new().name("cuda-emulator end".to_owned()).spawn(end);
        } else {
            end();
        }
    }
}
