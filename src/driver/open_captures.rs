//! The captures that are open, on whatever thread: what must not be done meanwhile, and how to do the rest nevertheless.
//!
//! Three rules. Calls of this crate are made so that no capture minds ([`despite_captures`]). Waiting for all of a context breaks
//! its captures all the same, so it is an error while there is one ([`forbid_anywhere`]). Nothing is given back on a thread that
//! captures: a free would be recorded, or refused ([`forbid_here`]).

#![allow(unsafe_code)] // Exchanges the calling thread's own mode.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::context::CudaContext;
use super::{host_call, park};
use crate::error::{Error, ErrorKind, NotInCapture};

/// The identity of the context and the thread of each open capture.
static OPEN: Mutex<Vec<(usize, ThreadId)>> = Mutex::new(Vec::new());
/// How many there are: most calls find none and need no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A capture of this crate that may be going on; it is over when this is dropped.
pub(super) struct OpenCapture {
    // Held, so that no other context gets its identity.
    context: CudaContext,
    thread: ThreadId,
}

impl OpenCapture {
    /// Call it before the driver begins to capture.
    pub(super) fn new(context: &CudaContext) -> Self {
        let thread = thread::current().id();
        let mut open = open();
        open.push((context.identity(), thread));
        COUNT.store(open.len(), Ordering::Release);
        Self { context: context.clone(), thread }
    }
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        let this = (self.context.identity(), self.thread);
        let mut open = open();
        if let Some(index) = open.iter().position(|other| *other == this) {
            open.swap_remove(index);
        }
        COUNT.store(open.len(), Ordering::Release);
        drop(open);
        // What had to wait for this.
        park::sweep();
    }
}

impl CudaContext {
    /// An error where nothing of this context can be given back now: in a host function, or while this thread captures.
    pub(crate) fn may_give_back(&self, call: &'static str) -> Result<(), Error> {
        host_call::refuse(call)?;
        forbid_here(self, call)
    }
}

/// An error where this thread captures a stream of `context`.
#[inline]
pub(crate) fn forbid_here(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    let here =
        |(of, thread): &(usize, ThreadId)| *of == context.identity() && *thread == thread::current().id();
    if !any_open() || !open().iter().any(here) {
        return Ok(());
    }
    let help = "do it before or after the capture; inside, use memory that was allocated before";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// An error where a stream of `context` is captured, on whatever thread: `call` waits for all of it.
#[inline]
pub(crate) fn forbid_anywhere(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    if !any_open() || !open().iter().any(|(of, _)| *of == context.identity()) {
        return Ok(());
    }
    let help = "a stream of the context is being captured, perhaps by another thread: wait for single streams, or do it after \
                the capture";
    Err(ErrorKind::NotInCapture(NotInCapture { call, help }).into())
}

/// Runs `call` so that no open capture is broken by it, nor breaks it.
#[inline]
pub(crate) fn despite_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    if any_open() { outside_captures(context, call) } else { call() }
}

/// The same for captures of other code too, which this crate cannot see: for calls that nobody asked for.
///
/// Driver call: `cuThreadExchangeStreamCaptureMode`, twice.
#[cold]
pub(super) fn outside_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
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

#[inline]
fn any_open() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

fn open() -> MutexGuard<'static, Vec<(usize, ThreadId)>> {
    // Nothing panics while it is locked, and every state of the list is whole.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
