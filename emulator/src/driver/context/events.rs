//! `cuCtxRecordEvent`, `cuCtxWaitEvent`, and the same for green contexts: events over all streams of a context.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::Context;
use super::current::named;
use super::green::context_of_green;
use crate::driver::current_work;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_HANDLE, Outcome, entries};
use crate::driver::queue::{Completion, Job};
use crate::driver::state::Call;
use crate::driver::stream::capture::captured_in;
use crate::driver::work::event::Event;
use crate::driver::work::recorder::Point;

entries! {
    cuCtxRecordEvent(context: CUcontext, event: CUevent) = record;
    cuCtxWaitEvent(context: CUcontext, event: CUevent) = wait;
    cuGreenCtxRecordEvent(green: CUgreenCtx, event: CUevent) = record_green;
    cuGreenCtxWaitEvent(green: CUgreenCtx, event: CUevent) = wait_green;
}

impl Context {
    /// Completes when all work submitted to its streams so far is done.
    fn all_done(&self, event: &Event) -> Outcome<Arc<Completion>> {
        // A queue without a stream: it waits for all others, and is discarded afterwards.
        let job = match event.begin() {
            None => Job::Point,
            Some(recording) => Job::Run(Box::new(move || {
                current_work::tell_host();
                recording.reached();
                Ok(())
            })),
        };
        self.order.beside().submit_behind(self.order.last(), || self.order.all(), job)
    }

    /// For functions that concern all streams: refused while one is captured.
    fn outside_of_captures(&self) -> Outcome {
        if captured_in(self).is_empty() {
            Ok(())
        } else {
            Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}

fn record(call: &Call, context: CUcontext, event: CUevent) -> Outcome {
    let context = named(context, INVALID_CONTEXT)?;
    let event = call.event(event)?;
    if !event.context.shares_objects(&context) {
        return Err(INVALID_HANDLE);
    }
    record_in(&context, &event)
}

fn record_green(call: &Call, green: CUgreenCtx, event: CUevent) -> Outcome {
    let context = context_of_green(green)?;
    let event = call.event(event)?;
    if !event.context.shares_objects(&context) {
        return Err(INVALID_HANDLE);
    }
    record_in(&context, &event)
}

fn record_in(context: &Context, event: &Event) -> Outcome {
    context.outside_of_captures()?;
    let _turn = context.order.recording();
    event.set(Point::Stream(context.all_done(event)?));
    Ok(())
}

fn wait(call: &Call, context: CUcontext, event: CUevent) -> Outcome {
    wait_in(call, &*named(context, INVALID_CONTEXT)?, event)
}

fn wait_green(call: &Call, green: CUgreenCtx, event: CUevent) -> Outcome {
    wait_in(call, &*context_of_green(green)?, event)
}

fn wait_in(call: &Call, context: &Context, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    if event.captured().is_some() {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    context.outside_of_captures()?;
    context.order.wait_for(event.recorded());
    Ok(())
}
