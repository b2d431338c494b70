//! Contexts, which `cuCtxCreate` and `cuDevicePrimaryCtxRetain` create, and the stack of current ones.

pub(super) mod current;
pub(super) mod events;
pub(super) mod functions;
pub(super) mod green;
pub(super) mod hold;
mod limits;
pub(super) mod primary;

use super::entry::{INVALID_VALUE, Outcome};
use super::handles::Handles;
use super::queue::Order;
use super::since::known_flags;
use super::slot::{PerSlot, per_slot};
use super::state::{State, lock};
use crate::architecture::Architecture;
use crate::check::{Actor, Bytes, Finding, FindingKind, Space};
use crate::memory::{Heap, Leak, Memory};
use cuda_driver_sys::{CUctx_flags, CUdevice, CUfunc_cache, CUlimit, CUsharedconfig};
use limits::Limits;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A context. Objects of a context hold it; it holds its streams until it dies.
pub(super) struct Context {
    /// Its handle. A primary context keeps its handle when it is created again.
    pub(super) handle: usize,
    /// Its number: another one for every life of the primary context.
    pub(super) id: u64,
    /// Its device.
    pub(super) device: CUdevice,
    /// The memory of its device, from which it allocates.
    pub(super) memory: Arc<Memory>,
    /// The heap of its kernels.
    pub(super) heap: Arc<Heap>,
    /// Numbers of the contexts whose memory its kernels may reach.
    pub(super) peers: Mutex<Vec<u64>>,
    /// Whether it is the device's primary context.
    pub(super) primary: bool,
    /// Whether it is a green context, which has a part of the primary one's multiprocessors.
    pub(super) green: bool,
    flags: AtomicU32,
    alive: AtomicBool,
    /// How often it was created or attached to, less how often it was detached from.
    uses: AtomicU32,
    /// Whether the program has reset it: its kernels are abandoned.
    pub(super) reset: AtomicBool,
    /// The queues of its streams.
    pub(super) order: Arc<Order>,
    pub(super) settings: Mutex<Settings>,
}

/// How a context is created.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKind {
    Primary,
    Created,
    Green,
}

/// All contexts.
pub(super) static CONTEXTS: PerSlot<Handles<Context>> = per_slot!(Handles::new(0));

/// The settings of a context.
pub(super) struct Settings {
    limits: Limits,
    cache: CUfunc_cache,
    banks: CUsharedconfig,
}

/// `CU_CTX_MAP_HOST`, always on in a primary context.
const MAP_HOST: u32 = 8;
/// Flags that driver 580 knows besides the scheduling mode.
const KNOWN_FLAGS: u32 = 0xf8;

/// Refuses flags that driver 580 refuses: unknown bits, and scheduling modes that are none.
fn checked_flags(flags: u32) -> Outcome<u32> {
    known_flags(flags, CUctx_flags)?;
    if flags & !(KNOWN_FLAGS | 7) == 0 && matches!(flags & 7, 0 | 1 | 2 | 4) {
        Ok(flags)
    } else {
        Err(INVALID_VALUE)
    }
}

impl Context {
    /// A context, known to the driver under `handle`.
    fn create(
        state: &State,
        handle: usize,
        device: CUdevice,
        kind: ContextKind,
        flags: u32,
    ) -> Outcome<Arc<Context>> {
        let memory = Arc::clone(state.memory_of(device)?);
        let (primary, green) = (kind == ContextKind::Primary, kind == ContextKind::Green);
        let made =
            Context { handle, id: state.id(), device, memory, primary, green, ..Context::empty(flags) };
        lock(&made.settings).limits = Limits::of(made.architecture());
        let context = Arc::new(made);
        let _gate = hold::join(&context);
        CONTEXTS.insert(handle, Arc::clone(&context));
        Ok(context)
    }

    /// A context that is invisible to programs, for images that are loaded without one, for devices of that architecture.
    pub(super) fn nowhere(architecture: Architecture) -> Arc<Context> {
        let memory = Arc::new(Memory::new(0).with_architecture(architecture));
        Arc::new(Context { memory, ..Context::empty(0) })
    }

    /// The architecture of its device.
    pub(super) fn architecture(&self) -> Architecture {
        self.memory.architecture()
    }

    /// A context of no device, under no handle.
    fn empty(flags: u32) -> Context {
        let settings = Settings {
            limits: Limits::of(Architecture::default()),
            cache: CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            banks: CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE,
        };
        Context {
            handle: 0,
            id: 0,
            device: 0,
            memory: Arc::new(Memory::new(0)),
            heap: Arc::default(),
            peers: Mutex::default(),
            primary: false,
            green: false,
            flags: AtomicU32::new(flags),
            alive: AtomicBool::new(true),
            uses: AtomicU32::new(1),
            reset: AtomicBool::new(false),
            order: Arc::default(),
            settings: Mutex::new(settings),
        }
    }

    /// Whether streams of one take kernels and events of the other: green contexts and the primary context of a device share both
    /// (H200).
    pub(super) fn shares_objects(&self, other: &Context) -> bool {
        let of_primary = |context: &Context| context.primary || context.green;
        self.id == other.id || (self.device == other.device && of_primary(self) && of_primary(other))
    }

    /// One of its limits.
    pub(super) fn limit(&self, limit: CUlimit) -> Outcome<usize> {
        lock(&self.settings).limits.get(limit, &self.heap)
    }

    /// The cache preference of its kernels.
    pub(super) fn cache(&self) -> CUfunc_cache {
        lock(&self.settings).cache
    }

    /// How many launches by kernels may wait at a time.
    pub(super) fn pending_launches(&self) -> usize {
        lock(&self.settings).limits.pending_launches()
    }

    /// Whether it is not destroyed.
    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// The flags that `cuCtxGetFlags` returns.
    fn flags(&self) -> u32 {
        let flags = self.flags.load(Ordering::Relaxed);
        if self.primary { flags | MAP_HOST } else { flags }
    }

    /// Waits for all work submitted to this context so far.
    pub(super) fn synchronize(&self) {
        self.order.synchronize();
    }

    /// The devices whose memory its kernels reach besides that of its own, one bit each.
    pub(super) fn peer_devices(&self) -> u32 {
        let peers = lock(&self.peers);
        if peers.is_empty() {
            return 0;
        }
        let contexts = CONTEXTS.all();
        let live = contexts.iter().filter(|other| other.is_alive() && peers.contains(&other.id));
        live.fold(0, |devices, other| devices | 1 << other.device)
    }

    /// Destroys it: waits for its work, then destroys everything that it owns.
    fn destroy(&self, state: &State) {
        self.alive.store(false, Ordering::Release);
        self.synchronize();
        state.belongings.iter().for_each(|give_back| give_back(state, self.id));
        let told = state.checker.as_ref().filter(|checker| checker.checks().leaks);
        if let Some(checker) = told {
            self.heap.leaks().into_iter().for_each(|leak| checker.add(finding(leak)));
        }
    }
}

/// The report of blocks that kernels left in the heap.
fn finding(leak: Leak) -> Finding {
    let Leak { by, first: (address, count), blocks, bytes } = leak;
    let place = format!("never freed: {bytes} bytes in {blocks} blocks that were allocated here");
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let (block, thread, ptx_line, source) = (by.block, by.thread, by.ptx_line, by.source);
    Finding {
        kind: FindingKind::Leak,
        kernel: by.kernel,
        bytes: Some(Bytes { space: Space::Global, address, count, place }),
        access: Actor {
            verb: "malloc",
            block,
            thread,
            ptx_line,
            source,
            function: None,
            kernel: None,
            stream: None,
        },
        other: None,
        advice: None,
        times: 1,
    }
}

/// Destroys all contexts and everything that they own.
pub(super) fn end_all(state: &State) {
    primary::end_all(state);
    CONTEXTS.all().iter().filter(|context| context.is_alive()).for_each(|context| context.destroy(state));
}

/// Forgets all contexts, which were destroyed before.
pub(super) fn clear() {
    CONTEXTS.clear();
}

/// Waits until all work of all contexts is done.
pub(super) fn synchronize_all() {
    CONTEXTS.all().iter().for_each(|context| context.synchronize());
}

/// Refuses values that are not a cache preference.
pub(super) fn checked_cache(config: CUfunc_cache) -> Outcome<CUfunc_cache> {
    if config.0 <= CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0 { Ok(config) } else { Err(INVALID_VALUE) }
}

/// Refuses values that are not a bank size.
pub(super) fn checked_banks(config: CUsharedconfig) -> Outcome<CUsharedconfig> {
    if config.0 <= CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0 {
        Ok(config)
    } else {
        Err(INVALID_VALUE)
    }
}
