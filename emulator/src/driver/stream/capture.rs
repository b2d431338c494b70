//! Captured streams, and the calls that captures forbid on which threads.

use cuda_driver_sys::{CUresult, CUstreamCaptureMode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::Stream;
use crate::driver::context::Context;
use crate::driver::entry::Outcome;
use crate::driver::queue::Kind;
use crate::driver::slot::{PerSlot, PerThread, per_slot, per_thread};
use crate::driver::state::{Call, lock};
use crate::driver::work::recorder::{Captured, Recorder};

/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`
pub(in crate::driver) const INVALIDATED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
pub(in crate::driver) const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

/// The streams that are members of captures.
static MEMBERS: PerSlot<Mutex<Vec<Arc<Stream>>>> = per_slot!(Mutex::new(Vec::new()));
/// The number of captures: for most calls it is zero, and no lock is needed.
static COUNT: PerSlot<AtomicUsize> = per_slot!(AtomicUsize::new(0));

thread_local! {
    static MODE: PerThread<CUstreamCaptureMode> =
        const { per_thread!(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) };
}

/// Sets this thread's capture mode and returns the previous one.
pub(in crate::driver) fn exchange(mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    MODE.with(|own| own.replace(mode))
}

/// Invalidates the capture after a mistake; returns another error if it was invalidated before.
pub(in crate::driver) fn fail(capture: &dyn Recorder, code: CUresult) -> CUresult {
    if !capture.is_valid() {
        return INVALIDATED;
    }
    capture.invalidate();
    code
}

impl Stream {
    /// The capture that it is a member of.
    pub(in crate::driver) fn capture(&self) -> Option<Arc<dyn Recorder>> {
        if COUNT.load(Ordering::Acquire) == 0 { None } else { lock(&self.capture).clone() }
    }

    /// Makes it a member of a capture, or of none.
    pub(in crate::driver) fn set_capture(self: &Arc<Self>, capture: Option<Arc<dyn Recorder>>) {
        let mut members = lock(&MEMBERS);
        members.retain(|other| !Arc::ptr_eq(other, self));
        members.extend(capture.is_some().then(|| Arc::clone(self)));
        COUNT.store(members.len(), Ordering::Release);
        *lock(&self.capture) = capture;
    }

    /// The recorder of work that is submitted to it; `None` if work is executed.
    pub(super) fn recorder(&self) -> Outcome<Option<Arc<dyn Recorder>>> {
        match self.capture() {
            Some(capture) if capture.is_valid() => Ok(Some(capture)),
            Some(_) => Err(INVALIDATED),
            None => self.implicit().map(|()| None),
        }
    }

    /// Whether work that is submitted now becomes a node.
    pub(in crate::driver) fn is_recording(&self) -> Outcome<bool> {
        self.recorder().map(|recorder| recorder.is_some())
    }

    /// For work that cannot be a node, and for functions that query the work of a stream: a captured stream has none.
    pub(in crate::driver) fn outside(&self) -> Outcome {
        match self.capture() {
            Some(capture) => Err(fail(&*capture, UNSUPPORTED)),
            None => self.implicit(),
        }
    }

    /// The legacy stream would wait for streams that are captured, and they for it: both are over.
    fn implicit(&self) -> Outcome {
        let captures = self.implied();
        captures.iter().for_each(|capture| capture.invalidate());
        if captures.is_empty() { Ok(()) } else { Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) }
    }

    /// As [`implicit`](Self::implicit), for functions that only look.
    pub(in crate::driver) fn look(&self) -> Outcome {
        if self.implied().is_empty() { Ok(()) } else { Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) }
    }

    /// The captures that the legacy stream would have to wait for.
    fn implied(&self) -> Vec<Arc<dyn Recorder>> {
        if self.kind != Kind::Legacy {
            return Vec::new();
        }
        captures(|member| member.context.id == self.context.id && member.kind != Kind::NonBlocking)
    }

    /// It waits for an event that is captured, and is not captured itself: it becomes a member.
    pub(super) fn join(self: &Arc<Self>, event: Captured) -> Outcome {
        let capture = event.recorder()?;
        if self.kind == Kind::Legacy {
            return Err(fail(&*capture, CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
        }
        capture.join(self.id, event.after)?;
        self.set_capture(Some(capture));
        Ok(())
    }

    /// Called when it is destroyed. A capture that began in it can never be ended; work of a stream that joined a
    /// capture must still be joined.
    pub(super) fn abandon(self: &Arc<Self>) {
        if let Some(capture) = self.capture() {
            self.set_capture(None);
            if capture.origin() == self.id {
                release(&*capture);
                capture.abandon();
            }
        }
    }
}

/// The captures of the members that are wanted.
fn captures(wanted: impl Fn(&Stream) -> bool) -> Vec<Arc<dyn Recorder>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Vec::new();
    }
    lock(&MEMBERS).iter().filter(|member| wanted(member)).filter_map(|member| member.capture()).collect()
}

/// The captures of streams of a context.
pub(in crate::driver) fn captured_in(context: &Context) -> Vec<Arc<dyn Recorder>> {
    captures(|member| member.context.id == context.id)
}

/// Called when a capture ends: its streams become ordinary ones again.
pub(in crate::driver) fn release(capture: &dyn Recorder) {
    let members = lock(&MEMBERS).clone();
    let its = |stream: &&Arc<Stream>| stream.capture().is_some_and(|other| other.id() == capture.id());
    members.iter().filter(its).for_each(|stream| stream.set_capture(None));
}

impl Call {
    /// For functions that are unsafe during a capture, because they may wait for the device or change memory of
    /// kernels: they fail, and invalidate every capture that forbids them.
    pub(in crate::driver) fn unsafe_in_capture(&self) -> Outcome {
        let mode = MODE.with(PerThread::get);
        refuse(captures(|_| true).iter().filter(|capture| capture.forbids(mode)))
    }
}

/// For functions that wait for all of a context: nothing of it may be captured, in whatever mode.
pub(in crate::driver) fn whole(context: &Context) -> Outcome {
    refuse(captured_in(context).iter())
}

/// Invalidates captures; fails if there are any.
fn refuse<'a>(captures: impl Iterator<Item = &'a Arc<dyn Recorder>>) -> Outcome {
    let count = captures.map(|capture| capture.invalidate()).count();
    if count == 0 { Ok(()) } else { Err(UNSUPPORTED) }
}
