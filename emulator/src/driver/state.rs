//! The one state of the process, as in a real driver: made by the first `cuInit`, never taken down.

use super::array::{Array, Mipmap};
use super::check;
use super::config::Config;
use super::context::green::{Green, Part};
use super::context::{Context, Primary, current};
use super::device::Device;
use super::entry::{INVALID_CONTEXT, INVALID_HANDLE, Outcome};
use super::event::Event;
use super::fault::FaultLatch;
use super::function::Function;
use super::graph::capture::Captures;
use super::graph::memory::GraphMemory;
use super::graph::{Exec, Graph, Home, UserObject};
use super::handles::{Found, Handles};
use super::memory::{Allocations, Managed, Pinned, Pools, VirtualMemory};
use super::module::{Kernel, Library, Link, Module};
use super::stream::Stream;
use super::texture::Object;
use crate::check::Checker;
use crate::memory::Memory;
use cuda_driver_sys::{CUdevice, CUresult, CUstream};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Everything the driver knows.
pub(super) struct State {
    /// The process that called `cuInit`: a forked child cannot use it.
    process: u32,
    /// What the environment asked for.
    pub(super) config: Config,
    /// The devices, by ordinal.
    pub(super) devices: Vec<Device>,
    /// The memory of the first device; any of them finds the addresses of all.
    pub(super) memory: Arc<Memory>,
    /// Who owns which allocation.
    pub(super) allocations: Allocations,
    /// Host memory that was allocated or registered here.
    pub(super) pinned: Pinned,
    /// What programs said about managed memory.
    pub(super) managed: Managed,
    /// Memory pools.
    pub(super) pools: Pools,
    /// Reserved addresses, memory without addresses, and which is mapped where.
    pub(super) virtual_memory: VirtualMemory,
    /// The kernel fault that ended it all, if one did.
    pub(super) fault: FaultLatch,
    /// What kernels are checked for, and what was found.
    pub(super) checker: Option<Arc<Checker>>,
    pub(super) contexts: Handles<Context>,
    pub(super) greens: Handles<Green>,
    pub(super) descriptions: Handles<Part>,
    pub(super) streams: Handles<Stream>,
    pub(super) events: Handles<Event>,
    pub(super) modules: Handles<Module>,
    pub(super) functions: Handles<Function>,
    pub(super) libraries: Handles<Library>,
    pub(super) kernels: Handles<Kernel>,
    pub(super) links: Handles<Link>,
    pub(super) graphs: Handles<Graph>,
    pub(super) nodes: Handles<Home>,
    pub(super) execs: Handles<Exec>,
    pub(super) user_objects: Handles<UserObject>,
    pub(super) graph_memory: GraphMemory,
    /// The captures that are not ended.
    pub(super) captures: Captures,
    pub(super) arrays: Handles<Array>,
    pub(super) mipmaps: Handles<Mipmap>,
    pub(super) textures: Handles<Object>,
    pub(super) surfaces: Handles<Object>,
    ids: AtomicU64,
}

static STATE: OnceLock<State> = OnceLock::new();

impl State {
    fn new() -> State {
        let config = Config::from_environment();
        let checker = check::checker(config.checks);
        let contexts = Handles::new(0);
        let memories =
            Memory::of_devices(config.memory, config.devices, checker.clone()).into_iter().map(Arc::new);
        let device = |memory| Device { memory, primary: Mutex::new(Primary::new(contexts.reserve())) };
        let devices: Vec<_> = memories.map(device).collect();
        let first = devices.first().map(|device| Arc::clone(&device.memory));
        State {
            process: std::process::id(),
            memory: first.unwrap_or_else(|| Arc::new(Memory::new(0))),
            devices,
            allocations: Allocations::default(),
            pinned: Pinned::default(),
            managed: Managed::default(),
            pools: Pools::new(config.devices),
            virtual_memory: VirtualMemory::default(),
            fault: FaultLatch::default(),
            checker,
            contexts,
            greens: Handles::new(40),
            descriptions: Handles::new(41),
            streams: Handles::new(1),
            events: Handles::new(2),
            modules: Handles::new(3),
            functions: Handles::new(4),
            libraries: Handles::new(5),
            kernels: Handles::new(6),
            links: Handles::new(48),
            graphs: Handles::new(32),
            nodes: Handles::new(33),
            execs: Handles::new(34),
            user_objects: Handles::new(35),
            graph_memory: GraphMemory::default(),
            captures: Captures::default(),
            arrays: Handles::new(20),
            mipmaps: Handles::new(21),
            textures: Handles::new(22),
            surfaces: Handles::new(23),
            ids: AtomicU64::new(1),
            config,
        }
    }

    /// The device with that ordinal.
    pub(super) fn device(&self, device: CUdevice) -> Outcome<&Device> {
        let known = usize::try_from(device).ok().and_then(|index| self.devices.get(index));
        known.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// A number that no other object of this process has.
    pub(super) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until all work of all contexts is done.
    pub(super) fn synchronize(&self) {
        for context in self.contexts.all() {
            context.synchronize();
        }
    }
}

/// Locks; a panic elsewhere does not make the driver unusable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `cuInit`.
pub(super) fn initialize() -> Outcome {
    let state = STATE.get_or_init(State::new);
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

    /// The context that is current on this thread, alive and without a fault.
    pub(super) fn context(&self) -> Outcome<Arc<Context>> {
        let state = self.state()?;
        let handle = current::get().ok_or(INVALID_CONTEXT)?;
        let context = state.contexts.get(handle);
        let context =
            context.filter(|context| context.is_alive()).ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        state.fault.check()?;
        Ok(context)
    }

    /// The stream that a handle means: NULL and 1 are the legacy stream of the current context, 2 is this thread's.
    pub(super) fn stream(&self, handle: CUstream) -> Outcome<Arc<Stream>> {
        match handle.addr() {
            0 | 1 => Ok(self.context()?.legacy()),
            2 => self.context()?.per_thread(),
            address => {
                let state = self.healthy()?;
                let stream = state.streams.get(address).ok_or(INVALID_HANDLE)?;
                match current::get() {
                    _ if stream.context.is_alive() => Ok(stream),
                    Some(_) => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
                    None => Err(INVALID_CONTEXT),
                }
            }
        }
    }

    /// The event that a handle means.
    pub(super) fn event(&self, handle: cuda_driver_sys::CUevent) -> Outcome<Arc<Event>> {
        let state = self.healthy()?;
        match state.events.find(handle.addr()) {
            Found::Live(event) if event.context.is_alive() => Ok(event),
            Found::Live(event) if event.context.primary => Err(INVALID_CONTEXT),
            Found::Live(_) | Found::Gone => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            Found::Unknown => Err(INVALID_HANDLE),
        }
    }

    /// The module that a handle means.
    pub(super) fn module(&self, handle: cuda_driver_sys::CUmodule) -> Outcome<Arc<Module>> {
        let state = self.healthy()?;
        let module = state.modules.get(handle.addr()).ok_or(INVALID_HANDLE)?;
        if module.context.is_alive() { Ok(module) } else { Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED) }
    }

    /// The function that a handle means: a `CUfunction` only.
    pub(super) fn function(&self, handle: cuda_driver_sys::CUfunction) -> Outcome<Arc<Function>> {
        let state = self.healthy()?;
        let function = state.functions.get(handle.addr()).ok_or(INVALID_HANDLE)?;
        if function.context.is_alive() { Ok(function) } else { Err(INVALID_HANDLE) }
    }
}
