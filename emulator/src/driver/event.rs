//! `cuEvent*`: points in the order of a stream.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex};

use super::context::Context;
use super::entry::{INVALID_HANDLE, INVALID_VALUE, Out, Outcome, entries};
use super::graph::Signal;
use super::graph::capture::record::{Captured, recorder};
use super::graph::operation::Operation;
use super::handles::to_c;
use super::state::{Call, in_callback, lock};
use super::stream::{Completion, Work};

/// An event.
pub(super) struct Event {
    pub(super) context: Arc<Context>,
    timing: bool,
    interprocess: bool,
    /// The point it was recorded at last.
    recorded: Mutex<Option<Arc<Completion>>>,
    /// The point in a capture that it was recorded at instead.
    captured: Mutex<Option<Captured>>,
}

const BLOCKING_SYNC: c_uint = 1;
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;

entries! {
    cuEventCreate(event: *mut CUevent, flags: c_uint) = create;
    cuEventRecord(event: CUevent, stream: CUstream) [callback] = record;
    cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) [callback] = record_with_flags;
    cuEventQuery(event: CUevent) [callback] = query;
    cuEventSynchronize(event: CUevent) [callback] = synchronize;
    cuEventDestroy_v2(event: CUevent) = destroy;
    cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent) = elapsed_time;
}

impl Event {
    /// The point it was recorded at last.
    pub(super) fn recorded(&self) -> Option<Arc<Completion>> {
        lock(&self.recorded).clone()
    }

    /// Makes it stand for a point.
    pub(super) fn set(&self, point: Arc<Completion>) {
        *lock(&self.captured) = None;
        *lock(&self.recorded) = Some(point);
    }

    /// The point in a capture that it was recorded at last.
    pub(super) fn captured(&self) -> Option<Captured> {
        lock(&self.captured).clone()
    }

    /// Makes it stand for a point in a capture.
    pub(super) fn set_captured(&self, point: Captured) {
        *lock(&self.captured) = Some(point);
    }

    /// For functions that ask when it happens: in a capture nothing does.
    fn question(&self) -> Outcome {
        self.captured().map_or(Ok(()), |captured| Err(captured.question()))
    }

    /// Whether a launch may signal it: it has no timing and stays in this process.
    pub(super) fn is_plain(&self) -> bool {
        !self.timing && !self.interprocess
    }
}

fn create(call: &Call, event: Out<CUevent>, flags: c_uint) -> Outcome {
    let context = call.context()?;
    let place = event.required()?;
    let unknown = flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0;
    if unknown || flags & (DISABLE_TIMING | INTERPROCESS) == INTERPROCESS {
        return Err(INVALID_VALUE);
    }
    let state = call.state()?;
    let handle = state.events.reserve();
    let (timing, interprocess) = (flags & DISABLE_TIMING == 0, flags & INTERPROCESS != 0);
    state.events.insert(
        handle,
        Arc::new(Event {
            context,
            timing,
            interprocess,
            recorded: Mutex::default(),
            captured: Mutex::default(),
        }),
    );
    place.set(to_c(handle));
    Ok(())
}

fn record(call: &Call, event: CUevent, stream: CUstream) -> Outcome {
    record_with_flags(call, event, stream, 0)
}

fn record_with_flags(call: &Call, event: CUevent, stream: CUstream, flags: c_uint) -> Outcome {
    let signal = Signal::new(call, event)?;
    let event = call.event(event)?;
    let stream = call.stream(stream)?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    if event.context.id != stream.context.id {
        return Err(INVALID_HANDLE);
    }
    match (flags, recorder(&stream)?) {
        (0, Some(recorder)) => {
            event.set_captured(recorder.point()?);
            return Ok(());
        }
        (0, None) => {}
        // Records it when the graph runs.
        (_, Some(recorder)) => return recorder.add(call.state()?, Operation::Record(signal)).map(|_| ()),
        (_, None) => return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE),
    }
    event.set(stream.submit(None, Work::Point)?);
    Ok(())
}

fn query(call: &Call, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    event.question()?;
    call.unsafe_in_capture()?;
    let ready = event.recorded().is_none_or(|point| point.is_done());
    call.healthy()?;
    if ready { Ok(()) } else { Err(CUresult::CUDA_ERROR_NOT_READY) }
}

fn synchronize(call: &Call, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    event.question()?;
    call.unsafe_in_capture()?;
    if let Some(point) = event.recorded() {
        if in_callback() && !point.is_done() {
            // What it waits for may be waiting for this callback.
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        point.wait();
    }
    call.healthy().map(|_| ())
}

/// Returns at once, whether or not the event has happened.
fn destroy(call: &Call, event: CUevent) -> Outcome {
    call.event(event)?;
    call.state()?.events.remove(event.addr());
    Ok(())
}

fn elapsed_time(call: &Call, milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Outcome {
    let (start, end) = (call.event(start)?, call.event(end)?);
    if start.context.id != end.context.id || !start.timing || !end.timing {
        return Err(INVALID_HANDLE);
    }
    let (Some(start), Some(end)) = (start.recorded(), end.recorded()) else { return Err(INVALID_HANDLE) };
    // Driver 580 answers so for a null pointer too.
    let place = milliseconds.required().map_err(|_| INVALID_HANDLE)?;
    let (Some(start), Some(end)) = (start.at(), end.at()) else { return Err(CUresult::CUDA_ERROR_NOT_READY) };
    // The sign tells which came first.
    let seconds = match end.checked_duration_since(start) {
        Some(time) => time.as_secs_f64(),
        None => -start.duration_since(end).as_secs_f64(),
    };
    place.set((seconds * 1e3) as f32);
    Ok(())
}
