//! `cuEvent*`: points in the order of a stream.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::Arc;

use super::entry::{INVALID_HANDLE, INVALID_VALUE, Out, Outcome, entries};
use super::handles::to_c;
use super::ipc::handle::no_file;
use super::state::{Call, in_callback};
use super::stream::Pace;
use super::work::Work;
use super::work::event::{EVENTS, Event, Signal};
use super::work::shared_event::{LOST, Look, SharedEvent};

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

fn create(call: &Call, event: Out<CUevent>, flags: c_uint) -> Outcome {
    let context = call.context()?;
    let place = event.required()?;
    let unknown = flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0;
    if unknown || flags & (DISABLE_TIMING | INTERPROCESS) == INTERPROCESS {
        return Err(INVALID_VALUE);
    }
    let handle = EVENTS.reserve();
    let (timing, interprocess) = (flags & DISABLE_TIMING == 0, flags & INTERPROCESS != 0);
    let event = if interprocess && cfg!(target_os = "linux") {
        let shared =
            SharedEvent::new(call.state()?.id(), context.device.unsigned_abs()).ok_or_else(no_file)?;
        Event::shared(context, shared)
    } else {
        Event::new(context, timing, interprocess)
    };
    EVENTS.insert(handle, Arc::new(event));
    place.set(to_c(handle));
    Ok(())
}

fn record(call: &Call, event: CUevent, stream: CUstream) -> Outcome {
    record_with_flags(call, event, stream, 0)
}

fn record_with_flags(call: &Call, event: CUevent, stream: CUstream, flags: c_uint) -> Outcome {
    let signal = Signal::new(call, event)?;
    let stream = call.stream(stream)?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    if !signal.event.context.shares_objects(&stream.context) {
        return Err(INVALID_HANDLE);
    }
    if flags == 0 {
        stream.wait_for_room();
        let _turn = stream.context.order.recording();
        signal.event.set(stream.mark(&signal.event)?);
        return Ok(());
    }
    // Records it when the graph runs.
    stream.give(call, Work::Record(signal), Pace::Queued).map(|_| ())
}

fn query(call: &Call, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    event.question()?;
    call.unsafe_in_capture()?;
    if let Some(other) = event.elsewhere() {
        return answer(call, other.look());
    }
    let point = event.recorded();
    let pending = point.as_ref().filter(|point| !point.is_done());
    pending.iter().for_each(|point| point.rouse());
    let ready = pending.is_none();
    call.healthy()?;
    if ready {
        point.iter().for_each(|point| point.learn());
        Ok(())
    } else {
        Err(CUresult::CUDA_ERROR_NOT_READY)
    }
}

/// The result for an event that another process has recorded.
fn answer(call: &Call, look: Look) -> Outcome {
    call.healthy()?;
    match look {
        Look::Pending => Err(CUresult::CUDA_ERROR_NOT_READY),
        Look::Done => Ok(()),
        Look::Lost => Err(LOST),
    }
}

fn synchronize(call: &Call, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    event.question()?;
    call.unsafe_in_capture()?;
    if let Some(other) = event.elsewhere() {
        let look = other.look();
        if in_callback() && look == Look::Pending {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        return answer(call, other.wait());
    }
    if let Some(point) = event.recorded() {
        if in_callback() && !point.is_done() {
            // The awaited work may be waiting for this callback.
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        point.wait_at_work();
        point.learn();
    }
    call.healthy().map(|_| ())
}

/// Returns at once, whether or not the event has happened.
fn destroy(call: &Call, event: CUevent) -> Outcome {
    call.event(event)?;
    EVENTS.remove(event.addr());
    Ok(())
}

fn elapsed_time(call: &Call, milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Outcome {
    let (start, end) = (call.event(start)?, call.event(end)?);
    if start.context.id != end.context.id || !start.timing || !end.timing {
        return Err(INVALID_HANDLE);
    }
    let (Some(start), Some(end)) = (start.recorded(), end.recorded()) else { return Err(INVALID_HANDLE) };
    // Driver 580 returns this for a null pointer, too.
    let place = milliseconds.required().map_err(|_| INVALID_HANDLE)?;
    let points = [&start, &end];
    let (Some(start), Some(end)) = (start.at(), end.at()) else { return Err(CUresult::CUDA_ERROR_NOT_READY) };
    points.iter().for_each(|point| point.learn());
    // The sign tells which came first.
    let seconds = match end.checked_duration_since(start) {
        Some(time) => time.as_secs_f64(),
        None => -start.duration_since(end).as_secs_f64(),
    };
    place.set((seconds * 1e3) as f32);
    Ok(())
}
