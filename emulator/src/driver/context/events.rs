//! `cuCtxRecordEvent` and `cuCtxWaitEvent`: events over all streams of a context.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::Context;
use super::functions::named;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_HANDLE, Outcome, entries};
use crate::driver::state::{Call, lock};
use crate::driver::stream::{Completion, Kind, Stream, Work};

entries! {
    cuCtxRecordEvent(context: CUcontext, event: CUevent) = record;
    cuCtxWaitEvent(context: CUcontext, event: CUevent) = wait;
}

impl Context {
    /// The moment at which all that its streams were given so far is done.
    fn all_done(self: &Arc<Self>) -> Outcome<Arc<Completion>> {
        let last: Vec<_> = lock(&self.order).iter().map(|stream| stream.last()).collect();
        // A stream of no program, which waits for all others and is forgotten when it has.
        Arc::new(Stream::new(self, 0, Kind::NonBlocking, 0)).submit(last, Work::Point)
    }

    /// For functions that concern all streams: refused while one is captured.
    fn outside_of_captures(&self) -> Outcome {
        let captured = lock(&self.order).iter().any(|stream| stream.capture().is_some());
        if captured { Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }
}

fn record(call: &Call, context: CUcontext, event: CUevent) -> Outcome {
    let context = named(call, context, INVALID_CONTEXT)?;
    let event = call.event(event)?;
    if event.context.id != context.id {
        return Err(INVALID_HANDLE);
    }
    context.outside_of_captures()?;
    event.set(context.all_done()?);
    Ok(())
}

fn wait(call: &Call, context: CUcontext, event: CUevent) -> Outcome {
    let context = named(call, context, INVALID_CONTEXT)?;
    let event = call.event(event)?;
    if event.captured().is_some() {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    context.outside_of_captures()?;
    let mut gates = lock(&context.gates);
    gates.retain(|gate| !gate.is_done());
    gates.extend(event.recorded().filter(|recorded| !recorded.is_done()));
    Ok(())
}
