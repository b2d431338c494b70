//! The open captures, on any thread: what must not be done during them, and how to do everything else.
//!
//! Three rules. Calls of this crate are made so that no capture minds ([`despite_captures`]). Waiting for all of a context breaks
//! its captures all the same, so it is an error while there is one ([`forbid_anywhere`]). Memory and images are not
//! released on a thread that captures ([`forbid_here`]): that is put off ([`park`]).

#![allow(unsafe_code)] // Exchanges the calling thread's own mode.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::context::CudaContext;
use super::{host_call, park};
use crate::error::{Error, ErrorKind, NotInCapture};

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());
/// How many there are: most calls find none and need no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// An open capture.
#[derive(Clone, Copy, PartialEq)]
struct Open {
    /// The identity of the context.
    context: usize,
    /// Where it began.
    thread: ThreadId,
    mode: CUstreamCaptureMode,
}

impl Open {
    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Whether it forbids this thread calls that are unsafe beside a capture, as long as the thread says nothing else.
    fn forbids(&self) -> bool {
        match self.mode {
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED => false,
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => self.is_here(),
            _ => true,
        }
    }
}

/// A capture of this crate that may be going on; it is over when this is dropped.
pub(super) struct OpenCapture {
    open: Open,
    // Held, so that no other context gets its identity.
    _context: CudaContext,
}

impl OpenCapture {
    /// Call it before the driver begins to capture.
    pub(super) fn new(context: &CudaContext, mode: CUstreamCaptureMode) -> Self {
        let open = Open { context: context.identity(), thread: thread::current().id(), mode };
        let mut all = all();
        all.push(open);
        COUNT.store(all.len(), Ordering::Release);
        Self { open, _context: context.clone() }
    }
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        let mut all = all();
        if let Some(index) = all.iter().position(|other| *other == self.open) {
            all.swap_remove(index);
        }
        COUNT.store(all.len(), Ordering::Release);
        drop(all);
        // What had to wait for this.
        park::sweep();
    }
}

impl CudaContext {
    /// An error where nothing of this context can be released now: in a host function, or while this thread captures.
    pub(crate) fn may_give_back(&self, call: &'static str) -> Result<(), Error> {
        host_call::refuse(call)?;
        forbid_here(self, call)
    }
}

/// Whether this thread captures.
pub(super) fn is_capturing() -> bool {
    any(Open::is_here)
}

/// An error where this thread captures a stream of `context`.
#[inline]
pub(crate) fn forbid_here(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    if !any(|open| open.context == context.identity() && open.is_here()) {
        return Ok(());
    }
    let help = "do it before or after the capture; inside, use memory that was allocated before";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// An error where a stream of `context` is captured, on any thread: `call` waits for all of it.
#[inline]
pub(crate) fn forbid_anywhere(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    if !any(|open| open.context == context.identity()) {
        return Ok(());
    }
    let help = "a stream of the context is being captured, perhaps by another thread: wait for single streams, or do it after \
                the capture";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// Runs `call` so that no capture of this crate is broken by it, or refuses it.
#[inline]
pub(crate) fn despite_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    // Not two calls of `call`: the compiler would put both into every function that calls the driver.
    let changed = if any(Open::forbids) { relax(context) } else { None };
    let result = call();
    if let Some(mode) = changed {
        restore(context, mode);
    }
    result
}

/// The same for captures of other code too, which this crate cannot see: for calls that nobody asked for.
///
/// Driver call: `cuThreadExchangeStreamCaptureMode`, twice.
pub(super) fn outside_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    let changed = relax(context);
    let result = call();
    if let Some(mode) = changed {
        restore(context, mode);
    }
    result
}

/// From now on this thread minds no capture; its own mode, to be given back by [`restore`], if the driver agrees.
#[cold]
fn relax(context: &CudaContext) -> Option<CUstreamCaptureMode> {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: `mode` outlives the call.
    let code = unsafe { context.driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
    (code == CUresult::SUCCESS).then_some(mode)
}

/// The thread gets its own mode back; there is nothing to do about a refusal.
#[cold]
fn restore(context: &CudaContext, mut mode: CUstreamCaptureMode) {
    // SAFETY: `mode` outlives the call.
    let _ = unsafe { context.driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
}

/// Whether there is such a capture.
#[inline]
fn any(such: impl Fn(&Open) -> bool) -> bool {
    COUNT.load(Ordering::Acquire) != 0 && any_of_all(&such)
}

/// Not in every function that calls the driver.
#[cold]
#[inline(never)]
fn any_of_all(such: &dyn Fn(&Open) -> bool) -> bool {
    all().iter().any(such)
}

fn all() -> MutexGuard<'static, Vec<Open>> {
    // Nothing panics while it is locked, and every state of the list is whole.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
