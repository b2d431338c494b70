//! Streams, to which programs submit work, or which they capture. [`give`] is the only way to submit it; behind it is a queue in the context's order.

mod attributes;
mod callback;
pub(super) mod capture;
pub(super) mod functions;
mod give;

use cuda_driver_sys::{CUresult, CUstream};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex};

use super::context::{Context, current};
use super::default_stream::is_own;
use super::entry::{INVALID_CONTEXT, INVALID_HANDLE, Outcome};
use super::handles::Handles;
use super::queue::{Kind, Queue};
use super::slot::{PerSlot, per_slot};
use super::state::{Call, State, lock};
use super::work::recorder::Recorder;
use attributes::Attributes;
pub(super) use give::Pace;

/// The highest priority of a stream; the lowest is 0.
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// A stream.
pub(super) struct Stream {
    /// Its handle; 1 and 2 for the default streams.
    pub(super) handle: usize,
    /// Its number.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) priority: c_int,
    pub(super) context: Arc<Context>,
    attributes: Mutex<Attributes>,
    queue: Arc<Queue>,
    /// The capture that it is a member of.
    capture: Mutex<Option<Arc<dyn Recorder>>>,
}

/// The streams that programs have created.
pub(super) static STREAMS: PerSlot<Handles<Stream>> = per_slot!(Handles::new(1));
/// The streams that NULL means, by number of their context.
static LEGACY: PerSlot<Mutex<BTreeMap<u64, Arc<Stream>>>> = per_slot!(Mutex::new(BTreeMap::new()));
/// What stands for the streams of threads whose own have ended, as in `atexit` functions: one for each context, by its number.
static LATE: PerSlot<Mutex<BTreeMap<u64, Arc<Stream>>>> = per_slot!(Mutex::new(BTreeMap::new()));

impl Stream {
    /// A new stream of a context.
    pub(super) fn new(context: &Arc<Context>, handle: usize, kind: Kind, priority: c_int) -> Arc<Stream> {
        let queue = context.order.add(kind);
        Arc::new(Stream {
            handle,
            id: queue.id,
            kind,
            priority,
            context: Arc::clone(context),
            attributes: Mutex::new(Attributes::new(priority)),
            queue,
            capture: Mutex::default(),
        })
    }

    /// The flags with which it was created.
    fn flags(&self) -> c_uint {
        c_uint::from(self.kind == Kind::NonBlocking)
    }

    /// Whether all its work is done; that of the blocking streams too, for the legacy stream.
    fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    /// The host knows that all its work is done.
    fn learn(&self) {
        self.queue.learn();
    }

    /// Waits until all its work is done.
    pub(super) fn synchronize(&self) {
        self.queue.synchronize();
    }
}

impl Context {
    /// The stream that NULL means.
    pub(super) fn legacy(self: &Arc<Self>) -> Arc<Stream> {
        let mut streams = lock(&LEGACY);
        Arc::clone(streams.entry(self.id).or_insert_with(|| Stream::new(self, 1, Kind::Legacy, 0)))
    }

    /// The stream that `CU_STREAM_PER_THREAD` means on this thread. A green context has none, as with driver 580.
    fn per_thread(self: &Arc<Self>) -> Outcome<Arc<Stream>> {
        if self.green {
            return Err(INVALID_HANDLE);
        }
        let new = || Stream::new(self, 2, Kind::PerThread, 0);
        let own = PER_THREAD.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            streams.retain(|own| own.context.is_alive());
            if let Some(own) = streams.iter().find(|own| own.context.id == self.id) {
                return Arc::clone(own);
            }
            let stream = new();
            streams.push(Arc::clone(&stream));
            stream
        });
        Ok(own.unwrap_or_else(|_| Arc::clone(lock(&LATE).entry(self.id).or_insert_with(new))))
    }
}

impl Call {
    /// The stream that a handle means: 1 is the legacy stream of the current context, 2 this thread's, and NULL one of them.
    pub(super) fn stream(&self, handle: CUstream) -> Outcome<Arc<Stream>> {
        match handle.addr() {
            0 if is_own() => self.context()?.per_thread(),
            0 | 1 => Ok(self.context()?.legacy()),
            2 => self.context()?.per_thread(),
            address => {
                self.healthy()?;
                let stream = STREAMS.get(address).ok_or(INVALID_HANDLE)?;
                match current::get() {
                    _ if stream.context.is_alive() => Ok(stream),
                    Some(_) => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
                    None => Err(INVALID_CONTEXT),
                }
            }
        }
    }

    /// The stream of functions that name none, and wait.
    pub(super) fn default_stream(&self) -> Outcome<Arc<Stream>> {
        let context = self.context()?;
        if !is_own() {
            return Ok(context.legacy());
        }
        let stream = context.per_thread()?;
        // In a capture, the awaited work would not be executed.
        stream.outside()?;
        Ok(stream)
    }
}

/// Forgets the legacy stream of a context.
pub(super) fn forget(_: &State, context: u64) {
    lock(&LEGACY).remove(&context);
    lock(&LATE).remove(&context);
}

/// Forgets all streams, whose contexts were destroyed before.
pub(super) fn clear() {
    lock(&LEGACY).clear();
    lock(&LATE).clear();
    STREAMS.clear();
}

thread_local! {
    /// This thread's own streams, which end with it.
    static PER_THREAD: RefCell<Vec<Arc<Stream>>> = const { RefCell::new(Vec::new()) };
}
