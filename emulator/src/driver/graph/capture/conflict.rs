//! What a capture forbids, and whom.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::cell::Cell;
use std::sync::Arc;

use super::{Capture, INVALIDATED, UNSUPPORTED};
use crate::driver::context::Context;
use crate::driver::entry::Outcome;
use crate::driver::state::{Call, State, get, lock};
use crate::driver::stream::{Kind, Stream};

thread_local! {
    static MODE: Cell<CUstreamCaptureMode> =
        const { Cell::new(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) };
}

/// Sets how strict this thread is to itself and tells how it was.
pub(super) fn exchange(mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    MODE.replace(mode)
}

impl Capture {
    /// Whether it keeps this thread from calls that are unsafe beside a capture.
    fn forbids(&self) -> bool {
        use CUstreamCaptureMode as M;
        let own =
            self.thread == std::thread::current().id() && self.mode != M::CU_STREAM_CAPTURE_MODE_RELAXED;
        match MODE.get() {
            M::CU_STREAM_CAPTURE_MODE_GLOBAL => own || self.mode == M::CU_STREAM_CAPTURE_MODE_GLOBAL,
            M::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => own,
            _ => false,
        }
    }

    /// A mistake: the capture is over, but for its end. One that was over before says so.
    pub(super) fn fail(&self, code: CUresult) -> CUresult {
        if !self.is_valid() {
            return INVALIDATED;
        }
        self.invalidate();
        code
    }
}

impl Call {
    /// For functions that are unsafe beside a capture, because they may wait for the device or change what kernels see:
    /// they fail, and spoil every capture that forbids them.
    pub(in crate::driver) fn unsafe_in_capture(&self) -> Outcome {
        let state = self.state()?;
        if !state.captures.any() {
            return Ok(());
        }
        let forbidding: Vec<_> =
            state.captures.all().into_iter().filter(|capture| capture.forbids()).collect();
        refuse(&forbidding)
    }
}

/// Spoils captures; fails if there are any.
fn refuse(captures: &[Arc<Capture>]) -> Outcome {
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(UNSUPPORTED) }
}

/// For functions that wait for all of a context: nothing of it may be captured, in whatever mode.
pub(in crate::driver) fn whole(state: &State, context: &Context) -> Outcome {
    if !state.captures.any() {
        return Ok(());
    }
    let streams = lock(&context.order);
    let captures: Vec<_> = streams.iter().filter_map(|stream| stream.capture()).collect();
    refuse(&captures)
}

/// For functions that ask about the work of a stream: one that is captured has none.
pub(in crate::driver) fn question(stream: &Stream) -> Outcome {
    match stream.capture() {
        Some(capture) => Err(capture.fail(UNSUPPORTED)),
        None => implicit(stream),
    }
}

/// The captures that the legacy stream would have to wait for.
fn implied(stream: &Stream) -> Vec<Arc<Capture>> {
    if stream.kind != Kind::Legacy || get().is_none_or(|state| !state.captures.any()) {
        return Vec::new();
    }
    let streams = lock(&stream.context.order);
    let blocking = streams.iter().filter(|other| other.kind != Kind::NonBlocking);
    blocking.filter_map(|other| other.capture()).collect()
}

/// The legacy stream would wait for streams that are captured, and they for it: both are over.
pub(super) fn implicit(stream: &Stream) -> Outcome {
    let captures = implied(stream);
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) }
}

/// As [`implicit`], for functions that only look.
pub(super) fn look(stream: &Stream) -> Outcome {
    if implied(stream).is_empty() { Ok(()) } else { Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) }
}
