//! Contexts: what `cuCtxCreate` and `cuDevicePrimaryCtxRetain` make, and the stack of current ones.

pub(super) mod current;
pub(super) mod events;
pub(super) mod functions;
pub(super) mod green;
mod limits;
pub(super) mod primary;

use super::entry::{INVALID_VALUE, Outcome};
use super::state::{State, lock};
use super::stream::{Completion, Kind, Stream};
use crate::memory::Memory;
use cuda_driver_sys::{CUdevice, CUfunc_cache, CUresult, CUsharedconfig};
use limits::Limits;
pub(super) use primary::Primary;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A context. Objects of a context hold it; it holds its streams until it dies.
pub(super) struct Context {
    /// What the program calls it. A primary context has one handle for all its lives.
    pub(super) handle: usize,
    /// Its number: another one for every life of the primary context.
    pub(super) id: u64,
    /// Its device.
    pub(super) device: CUdevice,
    /// The memory of its device, where it allocates.
    pub(super) memory: Arc<Memory>,
    /// Numbers of the contexts whose memory its kernels may reach.
    pub(super) peers: Mutex<Vec<u64>>,
    /// Whether it is the device's primary context.
    pub(super) primary: bool,
    flags: AtomicU32,
    alive: AtomicBool,
    /// All its streams. The lock is held while work is given to any of them: it makes the order of submission, by
    /// which the legacy stream and the others wait for each other, one for the whole context.
    pub(super) order: Mutex<Vec<Arc<Stream>>>,
    /// What all work that is given from now on comes after.
    pub(super) gates: Mutex<Vec<Arc<Completion>>>,
    pub(super) settings: Mutex<Settings>,
}

/// What can be set on a context.
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
        primary: bool,
        flags: u32,
    ) -> Outcome<Arc<Context>> {
        let memory = Arc::clone(&state.device(device)?.memory);
        let made = Context { handle, id: state.id(), device, memory, primary, ..Context::empty(flags) };
        let context = Arc::new(made);
        state.contexts.insert(handle, Arc::clone(&context));
        Ok(context)
    }

    /// A context that no program sees, for what is loaded without one.
    pub(super) fn nowhere() -> Arc<Context> {
        Arc::new(Context::empty(0))
    }

    /// A context of no device, under no handle.
    fn empty(flags: u32) -> Context {
        let settings = Settings {
            limits: Limits::default(),
            cache: CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            banks: CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE,
        };
        Context {
            handle: 0,
            id: 0,
            device: 0,
            memory: Arc::new(Memory::new(0)),
            peers: Mutex::default(),
            primary: false,
            flags: AtomicU32::new(flags),
            alive: AtomicBool::new(true),
            order: Mutex::default(),
            gates: Mutex::default(),
            settings: Mutex::new(settings),
        }
    }

    /// Whether it is not destroyed.
    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// The flags as `cuCtxGetFlags` tells them.
    fn flags(&self) -> u32 {
        let flags = self.flags.load(Ordering::Relaxed);
        if self.primary { flags | MAP_HOST } else { flags }
    }

    /// The stream that NULL means.
    pub(super) fn legacy(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = lock(&self.order);
        if let Some(stream) = streams.iter().find(|stream| stream.kind == Kind::Legacy) {
            return Arc::clone(stream);
        }
        let stream = Arc::new(Stream::new(self, 1, Kind::Legacy, 0));
        streams.push(Arc::clone(&stream));
        stream
    }

    /// The stream that `CU_STREAM_PER_THREAD` means on this thread.
    pub(super) fn per_thread(self: &Arc<Self>) -> Outcome<Arc<Stream>> {
        PER_THREAD
            .try_with(|streams| {
                let mut streams = streams.borrow_mut();
                streams.retain(|own| own.0.context.is_alive());
                if let Some(own) = streams.iter().find(|own| own.0.context.id == self.id) {
                    return Arc::clone(&own.0);
                }
                let stream = self.add_stream(2, Kind::PerThread, 0);
                streams.push(OwnStream(Arc::clone(&stream)));
                stream
            })
            .map_err(|_| CUresult::CUDA_ERROR_DEINITIALIZED)
    }

    /// A new stream of this context; forgets streams that were destroyed and have no work left.
    pub(super) fn add_stream(self: &Arc<Self>, handle: usize, kind: Kind, priority: i32) -> Arc<Stream> {
        let stream = Arc::new(Stream::new(self, handle, kind, priority));
        let mut streams = lock(&self.order);
        streams.retain(|stream| !stream.is_over());
        streams.push(Arc::clone(&stream));
        stream
    }

    /// Waits for all work given to this context before.
    pub(super) fn synchronize(&self) {
        let last: Vec<_> = lock(&self.order).iter().map(|stream| stream.last()).collect();
        for completion in last {
            completion.wait();
        }
    }

    /// Ends it: waits for its work, then takes everything with it that it owns.
    fn destroy(&self, state: &State) {
        self.alive.store(false, Ordering::Release);
        self.synchronize();
        for module in state.modules.all().iter().filter(|module| module.context.id == self.id) {
            module.discard(state);
        }
        super::texture::forget(state, self.id);
        super::array::forget(state, self.id);
        state.allocations.release(self.id, state);
        state.pinned.forget(self.id, &state.memory);
        // The streams hold this context: the cycle ends here.
        lock(&self.order).clear();
    }
}

thread_local! {
    static PER_THREAD: RefCell<Vec<OwnStream>> = const { RefCell::new(Vec::new()) };
}

/// A thread's own stream: over when the thread is.
struct OwnStream(Arc<Stream>);

impl Drop for OwnStream {
    fn drop(&mut self) {
        self.0.retire();
    }
}
