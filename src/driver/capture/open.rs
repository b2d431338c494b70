//! The open captures, on all threads: which calls must not be made during them, and how to make all others.
//!
//! Three rules. Calls of this crate are made in a way that breaks no capture ([`despite_captures`]). Synchronising a context would still break
//! its captures, so it is an error while a capture is open, and no capture begins while a wait may still be on its way into the
//! driver ([`ContextWait`]). Memory and images are not released on a thread that captures ([`forbid_here`]): that is deferred
//! ([`park`]).

#![allow(unsafe_code)] // Exchanges the calling thread's own mode.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::context_waits::{All, ContextWaits, OnContext};
use super::sync::{AtomicUsize, Condvar, Mutex};
use crate::driver::choice::is_child;
use crate::driver::context::CudaContext;
use crate::driver::{host_call, park};
use crate::error::{Error, ErrorKind, RefusedInCapture};

/// Whether this crate can capture. Where it cannot, no capture is ever open, and a program has no code that looks for one.
const CAN_CAPTURE: bool = cfg!(feature = "graph");

static ALL: ContextWaits<Open> = ContextWaits::of(Mutex::new(All::NONE), AtomicUsize::new(0), Condvar::new());
/// So long a capture lets waits for its context go first. Not longer, since such a wait may be for something that the capturing
/// thread does next. By then the wait is inside the driver, which looks for captures before it waits, not after.
const GIVE_WAY: Duration = Duration::from_millis(100);

/// An open capture.
#[derive(Clone, Copy, PartialEq)]
struct Open {
    /// The identity of the context.
    context: usize,
    /// Where it began.
    thread: ThreadId,
    mode: CUstreamCaptureMode,
}

impl OnContext for Open {
    fn context(&self) -> usize {
        self.context
    }
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
pub(in crate::driver) struct OpenCapture {
    open: Open,
    // Held, so that no other context gets its identity.
    _context: CudaContext,
}

impl OpenCapture {
    /// Call it before the driver begins to capture. No wait for all of the context begins from now on; those that have begun go first.
    pub(in crate::driver) fn new(context: &CudaContext, mode: CUstreamCaptureMode) -> Self {
        let open = Open { context: context.identity(), thread: thread::current().id(), mode };
        ALL.open(open, GIVE_WAY);
        Self { open, _context: context.clone() }
    }
}

impl Drop for OpenCapture {
    fn drop(&mut self) {
        if is_child() {
            return;
        }
        ALL.close(&self.open);
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
pub(in crate::driver) fn is_capturing() -> bool {
    any(Open::is_here)
}

/// Whether this crate may be capturing, on any thread.
#[inline]
pub(in crate::driver) fn is_any_open() -> bool {
    CAN_CAPTURE && ALL.is_any()
}

/// An error where this thread captures a stream of `context`.
#[inline]
pub(crate) fn forbid_here(context: &CudaContext, call: &'static str) -> Result<(), Error> {
    if !any(|open| open.context == context.identity() && open.is_here()) {
        return Ok(());
    }
    let help = "do it before or after the capture; inside, use memory that was allocated before";
    Err(ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into())
}

/// Whether a stream of `context` is captured, on any thread.
pub(in crate::driver) fn is_captured(context: &CudaContext) -> bool {
    any(|open| open.context == context.identity())
}

/// A call that waits for all of a context; over when this is dropped.
pub(crate) struct ContextWait {
    context: usize,
}

impl ContextWait {
    /// Announces `call`, unless a stream of `context` is captured, on any thread.
    pub(crate) fn begin(context: &CudaContext, call: &'static str) -> Result<Self, Error> {
        Self::of(context.identity(), call)
    }

    fn of(context: usize, call: &'static str) -> Result<Self, Error> {
        // In a child there is nothing to wait for: the call that follows says so.
        if !CAN_CAPTURE || is_child() || ALL.begin(context) {
            return Ok(Self { context });
        }
        let help = "a stream of the context is being captured, perhaps by another thread: wait for single streams, or do it \
                    after the capture";
        Err(ErrorKind::RefusedInCapture(RefusedInCapture { call, help }).into())
    }
}

impl Drop for ContextWait {
    fn drop(&mut self) {
        if CAN_CAPTURE && !is_child() {
            ALL.end(self.context);
        }
    }
}

/// Runs `call` so that no capture of this crate is broken by it, or refuses it.
#[inline]
pub(crate) fn despite_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    let _relaxed = Relaxed::where_forbidden(context);
    call()
}

/// The same, also for captures by other code, which this crate cannot see: for calls that the program did not request.
///
/// It costs two calls each time, whether there is such a capture or not. No function of the driver tells whether a stream is captured
/// that one has no handle of; and to call first and look at the answer is too late, since a call that is refused has spoilt the capture
/// (`capture_of_others` in `emulator/tests/driver_truth/captures.rs`). Nor may a thread be left as [`Relaxed`] makes it: other code on it is
/// to be refused what it would break. What no capture minds goes without: see `give_back_by_handle`.
///
/// Driver call: `cuThreadExchangeStreamCaptureMode`, twice.
pub(in crate::driver) fn outside_captures<R>(context: &CudaContext, call: impl FnOnce() -> R) -> R {
    let _relaxed = Relaxed::begin(context);
    call()
}

/// Puts this thread into relaxed capture mode until this is dropped, which restores the previous mode even if the call in
/// between unwinds.
pub(in crate::driver) struct Relaxed<'c> {
    context: &'c CudaContext,
    own: CUstreamCaptureMode,
}

impl<'c> Relaxed<'c> {
    /// `None` where no open capture of this crate forbids this thread anything.
    #[inline]
    pub(in crate::driver) fn where_forbidden(context: &'c CudaContext) -> Option<Self> {
        if is_any_open() { Self::where_one_forbids(context) } else { None }
    }

    /// Not in every function that calls the driver.
    #[cold]
    #[inline(never)]
    fn where_one_forbids(context: &'c CudaContext) -> Option<Self> {
        if any(Open::forbids) { Self::begin(context) } else { None }
    }

    /// `None` where the driver does not agree.
    #[inline]
    fn begin(context: &'c CudaContext) -> Option<Self> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: `mode` is a local, which is read and written during the call alone; it is one of the three modes.
        let code = unsafe { context.driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
        (code == CUresult::SUCCESS).then_some(Self { context, own: mode })
    }
}

impl Drop for Relaxed<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `own` is this value's, which outlives the call; it is what the driver handed out as this thread's mode in `begin`. There
        // is nothing to do about a refusal.
        let _ = unsafe { self.context.driver().cuThreadExchangeStreamCaptureMode(&mut self.own) };
    }
}

/// Whether there is such a capture.
#[inline]
fn any(such: impl Fn(&Open) -> bool) -> bool {
    is_any_open() && any_of_all(&such)
}

/// None of a process that this one was forked from.
#[cold]
#[inline(never)]
fn any_of_all(such: &dyn Fn(&Open) -> bool) -> bool {
    !is_child() && ALL.any(such)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    // No context has such an identity: they are addresses.
    const CONTEXT: usize = 1;
    const OTHER: usize = 3;

    fn open(context: usize) -> Open {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        Open { context, thread: thread::current().id(), mode }
    }

    #[test]
    fn a_capture_begins_after_the_waits_that_began_before_it() {
        let (wait, over) = (ContextWait::of(CONTEXT, "cuCtxSynchronize").ok(), AtomicBool::new(false));
        thread::scope(|scope| {
            let capture = scope.spawn(|| {
                let open = open(CONTEXT);
                ALL.open(open, Duration::from_secs(60));
                let began_after = over.load(Ordering::SeqCst);
                ALL.close(&open);
                began_after
            });
            while !any(|open| open.context == CONTEXT) && !capture.is_finished() {
                thread::yield_now();
            }
            assert!(ContextWait::of(CONTEXT, "cuCtxSynchronize").is_err(), "none begins any more");
            assert!(ContextWait::of(OTHER, "cuCtxSynchronize").is_ok(), "of another context it may");
            thread::sleep(Duration::from_millis(20));
            over.store(true, Ordering::SeqCst);
            drop(wait);
            assert!(capture.join().is_ok_and(|began_after| began_after));
        });
        assert!(ContextWait::of(CONTEXT, "cuCtxSynchronize").is_ok(), "the capture is over");
    }

    #[cfg(unix)]
    #[test]
    fn a_child_waits_for_no_lock_that_was_held_at_the_fork() {
        use crate::driver::child::{ends_in_a_child, in_use};
        in_use();
        let open = open(OTHER + 8);
        ALL.open(open, Duration::ZERO);
        // Asked under the lock.
        let ends = ALL.any(|other| {
            *other == open
                && ends_in_a_child(|| {
                    any(|_| true);
                    drop(ContextWait::of(CONTEXT, "cuCtxSynchronize"));
                })
        });
        ALL.close(&open);
        assert!(ends);
    }

    #[test]
    fn open_captures_are_found_until_they_are_over() {
        let (one, other) = (open(OTHER + 4), open(OTHER + 6));
        let is_open = |capture: Open| any(|open| *open == capture);
        ALL.open(one, Duration::ZERO);
        ALL.open(other, Duration::ZERO);
        ALL.open(other, Duration::ZERO);
        assert!(is_open(one) && is_open(other));
        ALL.close(&other);
        assert!(is_open(one) && is_open(other), "there are two of it");
        ALL.close(&other);
        assert!(is_open(one) && !is_open(other));
        ALL.close(&one);
        assert!(!is_open(one));
    }

    #[test]
    fn a_capture_forbids_calls_in_its_mode() {
        let forbids = |mode: CUstreamCaptureMode| {
            let open = Open { mode, ..open(CONTEXT) };
            let elsewhere = thread::scope(|scope| scope.spawn(|| open.forbids()).join());
            (open.forbids(), elsewhere.unwrap_or_default())
        };
        assert_eq!(forbids(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL), (true, true));
        assert_eq!(forbids(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), (true, false));
        assert_eq!(forbids(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED), (false, false));
    }

    #[test]
    fn a_capture_does_not_wait_for_ever() {
        let _wait = ContextWait::of(OTHER + 2, "cuCtxSynchronize");
        let open = open(OTHER + 2);
        ALL.open(open, Duration::from_millis(1));
        ALL.close(&open);
    }
}
