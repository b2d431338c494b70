//! The record of a capturing stream: everything that the captured work uses, so that the graph can keep it alive.

#![allow(unsafe_code)] // Handles of the driver, which may be used from every thread, in plain data.

mod context_waits;
pub(in crate::driver) mod open;
pub(in crate::driver) mod stream;

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphNode, CUstreamCaptureMode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use super::context::CudaContext;
use super::own_lock::{OwnGuard, OwnLock};
use super::packed::PackedArguments;
use super::park::Keep;
use super::stream::CudaStream;
use super::stream::thread::{StreamAccesses, StreamWaits, ThreadStream};
use super::sync;
use crate::error::Error;
use crate::ordering::{Captured, Kept, Refused, TurnLock, Turns};
use open::OpenCapture;

/// Memory that work on streams accesses.
pub(crate) trait Resource: Send + Sync {
    /// Its accesses so far.
    fn accesses(&self) -> &StreamAccesses;

    /// A number was given out by which a program may pass it to work: that is not among the accesses.
    fn escape(&self);
}

/// The record of one capture, shared by all streams that take part in it.
pub(crate) struct Capture {
    id: u64,
    /// Prevents others from synchronising the whole context.
    open: Mutex<Option<OpenCapture>>,
    /// Where it began.
    thread: ThreadId,
    turns: Turns<OwnLock<()>, Arc<dyn Resource>, ThreadStream, Recorded>,
}

/// The capture that a handle of a stream gives its work to.
#[cfg(feature = "graph")]
pub(crate) type InCapture = Option<Arc<Capture>>;
/// None: only feature `graph` begins captures. So a program without it has no code for what work in a capture takes.
#[cfg(not(feature = "graph"))]
pub(crate) type InCapture = Option<NoCapture>;

/// A type without values.
#[cfg(not(feature = "graph"))]
#[derive(Clone)]
pub(crate) enum NoCapture {}

/// Memory that captured work uses.
pub(crate) type CapturedMemory = Captured<Arc<dyn Resource>, ThreadStream>;

impl TurnLock for OwnLock<()> {
    type Turn<'l> = OwnGuard<'l, ()>;
    type Error = Error;

    fn lock(&self, call: &'static str) -> Result<OwnGuard<'_, ()>, Error> {
        self.lock(call)
    }
}

impl Kept for Arc<dyn Resource> {
    fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(self), Arc::as_ptr(other))
    }
}

/// What else was recorded.
#[derive(Default)]
pub(crate) struct Recorded {
    /// What captured work uses besides memory, such as modules.
    pub(crate) objects: Vec<Keep>,
    /// The numbers of the kernels, each once.
    pub(crate) kernels: Vec<u32>,
    /// Launches with named arguments.
    pub(crate) launches: Vec<RecordedLaunch>,
    /// Streams forked into the capture, to be joined at its end.
    pub(crate) forks: Vec<CudaStream>,
}

/// A captured launch some of whose arguments have names.
#[derive(Debug)]
pub(crate) struct RecordedLaunch {
    pub(crate) kernel: String,
    pub(crate) node: CUgraphNode,
    /// As launched; `kernelParams` is null.
    pub(crate) params: CUDA_KERNEL_NODE_PARAMS,
    pub(crate) arguments: PackedArguments,
    pub(crate) named: Vec<NamedArgument>,
}

// SAFETY: the function in `params` is a CUfunction, which may be used from every thread (`Kernel`); the node is of a
// graph, and one thread at a time gives it to the driver: the `LaunchPlan` does, through `&mut`. The other pointers in
// `params` are null; the rest is Send.
unsafe impl Send for RecordedLaunch {}
// SAFETY: as above; nothing is changed through a shared reference, and the rest is Sync.
unsafe impl Sync for RecordedLaunch {}

/// The position of a named argument in a packet, and how it was passed.
#[derive(Clone, Debug)]
pub(crate) struct NamedArgument {
    pub(crate) name: String,
    /// Index of its first parameter.
    pub(crate) parameter: usize,
    /// The type of a value; for memory, the type of its elements.
    pub(crate) type_name: &'static str,
    /// Bytes of a value.
    pub(crate) size: usize,
    /// For memory, how it was passed.
    pub(crate) memory: Option<MemoryWord>,
}

/// How memory is passed; `true` where it may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryWord {
    /// `slice`, `slice_mut`: address and length.
    Slice(bool),
    /// `pitched`, `pitched_mut`: address and pitch.
    Rows(bool),
    /// `ptr`, `ptr_mut`: the address.
    Pointer(bool),
}

impl Capture {
    /// The record of a capture that is about to begin on a stream of `context`.
    pub(crate) fn new(context: &CudaContext, mode: CUstreamCaptureMode) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let open = Mutex::new(Some(OpenCapture::new(context, mode)));
        Self { id, open, thread: thread::current().id(), turns: Turns::new(OwnLock::new(())) }
    }

    /// A number that no other capture has; never 0.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether it began on this thread.
    pub(super) fn began_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Whether the capture has ended: its streams then accept no more work.
    pub(crate) fn has_ended(&self) -> bool {
        self.turns.has_ended()
    }

    /// A thread that submits work to its streams holds this until it knows what was recorded, because another thread may use the same
    /// stream.
    fn turn(&self, call: &'static str) -> Result<OwnGuard<'_, ()>, Refused<Error>> {
        self.turns.turn(call)
    }

    /// A stream that must be joined at the end. Call it in the turn in which it became part of the capture.
    pub(super) fn add_fork(&self, fork: &CudaStream) {
        self.note(|rest| rest.forks.push(fork.clone()));
    }

    /// The streams that must be joined at the end.
    fn forks(&self) -> Vec<CudaStream> {
        self.turns.rest().as_ref().map(|rest| rest.forks.clone()).unwrap_or_default()
    }

    /// Notes a launch: what may be blamed for a fault of the graph, and the module, which must stay.
    pub(crate) fn add_kernel(&self, number: u32, module: Option<Keep>) {
        self.note(|rest| {
            if !rest.kernels.contains(&number) {
                rest.kernels.push(number);
            }
            rest.objects.extend(module);
        });
    }

    /// Records further objects that captured work uses. Returns them if the record was already taken, because then
    /// nothing would keep them alive.
    pub(crate) fn add_objects<I: IntoIterator<Item = Keep>>(&self, objects: I) -> Result<(), I> {
        let mut rest = self.turns.rest();
        let Some(rest) = rest.as_mut() else { return Err(objects) };
        rest.objects.extend(objects);
        Ok(())
    }

    /// Notes a launch with named arguments.
    pub(crate) fn add_launch(&self, launch: RecordedLaunch) {
        self.note(|rest| rest.launches.push(launch));
    }

    /// Notes something, unless the record was taken: what it keeps may own a stream of the capture, and so the record itself.
    fn note(&self, note: impl FnOnce(&mut Recorded)) {
        if let Some(rest) = self.turns.rest().as_mut() {
            note(rest);
        }
    }

    /// Notes an access and orders it after those on other streams of this capture. Call it in a turn.
    pub(crate) fn touch(
        &self,
        resource: Arc<dyn Resource>,
        stream: &CudaStream,
        waits: &mut StreamWaits,
        write: bool,
    ) -> Result<(), Error> {
        let touched = self.turns.touch(resource, &ThreadStream::here(stream), waits, write);
        touched.map_err(|refused| stream.refused(refused, "a submission"))
    }

    /// Marks the capture as ended, after which its streams accept no more work. Returns whether this call was the first,
    /// whose caller then ends the capture.
    pub(crate) fn begin_end(&self) -> bool {
        self.turns.end()
    }

    /// Marks the capture as ended, and waits for submissions in progress, which the driver would otherwise run unnoticed. Then joins all
    /// forks to `stream`. To be called before the driver ends the capture, on a thread that does not have the turn.
    ///
    /// Driver calls: those of [`CudaStream::join`] for each fork.
    pub(crate) fn close(&self, stream: &CudaStream) -> Result<(), Error> {
        let join_forks = || self.forks().iter().try_for_each(|fork| stream.after_in_turn(fork));
        self.turns.close("cuStreamEndCapture", join_forks)
    }

    /// Ends the record; returns all that was noted, for the graph. After `close`, unless nothing was begun.
    pub(crate) fn take_record(&self) -> (Vec<CapturedMemory>, Recorded) {
        self.turns.take_record()
    }

    /// To be called when the driver has ended the capture: makes the calls that were deferred because they could have
    /// invalidated it.
    pub(crate) fn end(&self) {
        drop(self.take_record());
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Outside the lock.
        drop(open);
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Capture")
    }
}
