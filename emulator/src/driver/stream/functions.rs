//! `cuStream*`, but for callbacks and attributes.

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::sync::Arc;

use super::{GREATEST_PRIORITY, Pace, STREAMS, Stream};
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::queue::Kind;
use crate::driver::state::{Call, callback_stream, in_callback};
use crate::driver::work::Work;
use crate::driver::work::event::Signal;

entries! {
    cuStreamCreate(stream: *mut CUstream, flags: c_uint) = create;
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) = create_with_priority;
    cuStreamDestroy_v2(stream: CUstream) [always] = destroy;
    cuStreamQuery(stream: CUstream) [callback] = query;
    cuStreamSynchronize(stream: CUstream) [callback] = synchronize;
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) [callback] = wait_event;
    cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) = get_flags;
    cuStreamGetPriority(stream: CUstream, priority: *mut c_int) = get_priority;
    cuStreamGetId(stream: CUstream, id: *mut c_ulonglong) = get_id;
    cuStreamGetCtx(stream: CUstream, context: *mut CUcontext) = get_context;
    cuStreamGetCtx_v2(stream: CUstream, context: *mut CUcontext, green: *mut CUgreenCtx) = get_contexts;
    cuStreamGetDevice(stream: CUstream, device: *mut CUdevice) = get_device;
}

pub(in crate::driver) use super::attributes::address as attributes_address;
pub(in crate::driver) use super::callback::address as callback_address;

fn create(call: &Call, stream: Out<CUstream>, flags: c_uint) -> Outcome {
    create_with_priority(call, stream, flags, 0)
}

fn create_with_priority(call: &Call, stream: Out<CUstream>, flags: c_uint, priority: c_int) -> Outcome {
    let context = call.context()?;
    let place = stream.required()?;
    let kind = match flags {
        0 => Kind::Blocking,
        1 => Kind::NonBlocking,
        _ => return Err(INVALID_VALUE),
    };
    let handle = STREAMS.reserve();
    let stream = Stream::new(&context, handle, kind, priority.clamp(GREATEST_PRIORITY, 0));
    STREAMS.insert(handle, stream);
    place.set(to_c(handle));
    Ok(())
}

/// Returns at once; work that the stream still has is done all the same.
fn destroy(call: &Call, stream: CUstream) -> Outcome {
    // Checked before all else: driver 580 says so even before `cuInit`.
    if stream.addr() <= 2 {
        return Err(INVALID_HANDLE);
    }
    let call = Call::admit(call.name)?;
    if in_callback() {
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    let stream = call.stream(stream)?;
    stream.abandon();
    STREAMS.remove(stream.handle);
    Ok(())
}

fn query(call: &Call, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    stream.outside()?;
    // A callback is itself unfinished work of its stream.
    let ready = callback_stream() != Some(stream.handle) && stream.is_idle();
    // The last work may have been the fault.
    call.healthy()?;
    if ready {
        stream.learn();
        Ok(())
    } else {
        Err(CUresult::CUDA_ERROR_NOT_READY)
    }
}

fn synchronize(call: &Call, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    stream.outside()?;
    if in_callback() && !(callback_stream() != Some(stream.handle) && stream.is_idle()) {
        // What it waits for may be waiting for this callback.
        return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
    }
    stream.synchronize();
    call.healthy().map(|_| ())
}

fn wait_event(call: &Call, stream: CUstream, event: CUevent, flags: c_uint) -> Outcome {
    let stream = call.stream(stream)?;
    let signal = Signal::new(call, event)?;
    let event = Arc::clone(&signal.event);
    match flags {
        0 => stream.wait_for(event.captured(), event.recorded()),
        // Waits for the event as it is when the graph runs.
        1 => stream.give(call, Work::Wait(signal), Pace::Queued).map(|_| ()),
        _ => stream.is_recording().and(Err(INVALID_VALUE)),
    }
}

fn get_flags(call: &Call, stream: CUstream, flags: Out<c_uint>) -> Outcome {
    let stream = call.stream(stream)?;
    flags.required()?.set(stream.flags());
    Ok(())
}

fn get_priority(call: &Call, stream: CUstream, priority: Out<c_int>) -> Outcome {
    let stream = call.stream(stream)?;
    priority.required()?.set(stream.priority);
    Ok(())
}

fn get_id(call: &Call, stream: CUstream, id: Out<c_ulonglong>) -> Outcome {
    let stream = call.stream(stream)?;
    id.required()?.set(stream.id);
    Ok(())
}

fn get_context(call: &Call, stream: CUstream, context: Out<CUcontext>) -> Outcome {
    let stream = call.stream(stream)?;
    context.required()?.set(to_c(stream.context.handle));
    Ok(())
}

/// There are no green contexts here: every stream belongs to an ordinary one.
fn get_contexts(call: &Call, stream: CUstream, context: Out<CUcontext>, green: Out<CUgreenCtx>) -> Outcome {
    let stream = call.stream(stream)?;
    let (context, green) = (context.required()?, green.required()?);
    context.set(to_c(stream.context.handle));
    green.set(to_c(0));
    Ok(())
}

fn get_device(call: &Call, stream: CUstream, device: Out<CUdevice>) -> Outcome {
    let stream = call.stream(stream)?;
    device.required()?.set(stream.context.device);
    Ok(())
}
