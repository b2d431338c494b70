//! What a stream knows of the capture it was made for, and what a thread knows of its captures.
//!
//! A stream that a capture hands out carries its [`Capture`]: calls that would break the capture are refused before the
//! driver sees them, and whatever is recorded leaves here what it uses, so that the graph can keep it.

#![allow(unsafe_code)] // One call of the driver that changes how this thread's calls are treated, and back.

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphNode, CUresult, CUstreamCaptureMode};
use std::any::TypeId;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::context::CudaContext;
use super::park::Keep;
use super::stream::CudaStream;
use crate::error::{CaptureError, Error, ErrorKind};

/// One capture; all streams that belong to it share it.
#[derive(Debug)]
pub(crate) struct Capture {
    id: u64,
    ended: AtomicBool,
    captured: Mutex<Captured>,
}

/// What the capture has been given so far.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// What the recorded work uses.
    pub(crate) kept: Vec<Keep>,
    /// Streams forked into the capture, to be joined at its end.
    pub(crate) forks: Vec<CudaStream>,
    /// Launches with named arguments.
    pub(crate) launches: Vec<RecordedLaunch>,
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

// SAFETY: the handles inside may be used from every thread; the rest is plain data.
unsafe impl Send for RecordedLaunch {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for RecordedLaunch {}

/// Where in a packet a named argument is, and what it was.
#[derive(Clone, Debug)]
pub(crate) struct NamedArgument {
    pub(crate) name: String,
    /// Index of its parameter; a slice has the next one too.
    pub(crate) parameter: usize,
    pub(crate) ty: TypeId,
    pub(crate) type_name: &'static str,
    pub(crate) is_slice: bool,
}

impl Capture {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, ended: AtomicBool::new(false), captured: Mutex::default() }
    }

    /// A number that no other capture has; never 0.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether the closure has returned.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// What was captured so far.
    pub(crate) fn captured(&self) -> MutexGuard<'_, Captured> {
        // Nothing below the lock panics; a poisoned lock would still hold whole entries.
        self.captured.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Keeps what recorded work uses.
    pub(crate) fn keep(&self, what: impl IntoIterator<Item = Keep>) {
        self.captured().kept.extend(what);
    }

    /// From now on the streams of this capture serve nobody. Returns what was captured.
    pub(crate) fn end(&self) -> Captured {
        self.ended.store(true, Ordering::Release);
        std::mem::take(&mut *self.captured())
    }
}

impl CudaStream {
    /// An error where the stream belongs to a capture: `call` waits, asks, allocates or frees.
    #[inline]
    pub(crate) fn not_in_capture(&self, call: &'static str) -> Result<(), Error> {
        self.capture().map_or(Ok(()), |capture| Err(refused(capture, call, self)))
    }

    /// An error where the stream belongs to a capture that is over.
    #[inline]
    pub(crate) fn capture_is_open(&self, call: &'static str) -> Result<(), Error> {
        match self.capture() {
            Some(capture) if capture.has_ended() => Err(refused(capture, call, self)),
            _ => Ok(()),
        }
    }

    /// An error unless stream and event, by the number of the capture it was recorded in, may meet.
    pub(crate) fn same_capture(&self, event: u64, call: &'static str) -> Result<(), Error> {
        self.capture_is_open(call)?;
        if self.capture().map_or(0, |capture| capture.id()) == event {
            return Ok(());
        }
        Err(ErrorKind::from(CaptureError::Isolated { call, stream: self.label() }).into())
    }

    /// The stream in a message.
    pub(crate) fn label(&self) -> String {
        format!("stream {:p}", self.raw())
    }
}

#[cold]
fn refused(capture: &Capture, call: &'static str, stream: &CudaStream) -> Error {
    let stream = stream.label();
    ErrorKind::from(if capture.has_ended() {
        CaptureError::Ended { call, stream }
    } else {
        CaptureError::NotInCapture { call, stream }
    })
    .into()
}

thread_local! {
    /// The streams that this thread captures, innermost last.
    static CAPTURING: RefCell<Vec<CudaStream>> = const { RefCell::new(Vec::new()) };
}

/// Notes that this thread captures `stream`, until [`leave`].
pub(crate) fn enter(stream: &CudaStream) {
    CAPTURING.with_borrow_mut(|streams| streams.push(stream.clone()));
}

/// Notes that this thread's innermost capture is over.
pub(crate) fn leave() {
    // Dropped outside the borrow.
    let _stream = CAPTURING.with_borrow_mut(Vec::pop);
}

/// An error where this thread captures a stream of `context`: `call` waits for or frees all of it.
#[inline]
pub(crate) fn forbid_here(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    let stream = CAPTURING.with_borrow(|streams| streams.iter().find(|s| s.context().is_same(context)).cloned());
    stream.map_or(Ok(()), |stream| Err(ErrorKind::from(CaptureError::NotInCapture { call, stream: stream.label() }).into()))
}

/// Runs `call` so that no capture is broken by it: for calls that are no part of any captured work, such as asking for an
/// event that was recorded elsewhere, or freeing memory that nobody uses.
///
/// Driver call: `cuThreadExchangeStreamCaptureMode`, twice.
pub(crate) fn outside_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: `mode` outlives the call.
    let exchange = |mode: &mut _| unsafe { context.driver().cuThreadExchangeStreamCaptureMode(mode) };
    let changed = exchange(&mut mode) == CUresult::SUCCESS;
    let result = call();
    if changed {
        // The thread gets its own mode back; there is nothing to do about a refusal.
        let _ = exchange(&mut mode);
    }
    result
}

pub(crate) use super::packed::PackedArguments;
