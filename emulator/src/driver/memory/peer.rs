//! `cuMemcpyPeer`: copies from the memory of one context's device to another's. They need no peer access.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::copy::{Mode, start};
use crate::driver::context::Context;
use crate::driver::context::current::living;
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::state::{Call, State};
use crate::driver::stream::Stream;
use crate::driver::work::ends::End;

entries! {
    cuMemcpyPeer(target: CUdeviceptr, to: CUcontext, source: CUdeviceptr, from: CUcontext, bytes: usize) = copy;
    cuMemcpyPeerAsync(target: CUdeviceptr, to: CUcontext, source: CUdeviceptr, from: CUcontext, bytes: usize, stream: CUstream) = copy_async;
}

/// Comes after all work given to both contexts before, and is done when it returns.
fn copy(
    call: &Call,
    target: CUdeviceptr,
    to: CUcontext,
    source: CUdeviceptr,
    from: CUcontext,
    bytes: usize,
) -> Outcome {
    let stream = call.default_stream()?;
    let (to, from) = (living(call, to)?, living(call, from)?);
    to.synchronize();
    from.synchronize();
    between(call, &stream, (&to, target), (&from, source), bytes)?;
    stream.synchronize();
    call.healthy().map(|_| ())
}

fn copy_async(
    call: &Call,
    target: CUdeviceptr,
    to: CUcontext,
    source: CUdeviceptr,
    from: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    let stream = call.stream(stream)?;
    let (to, from) = (living(call, to)?, living(call, from)?);
    between(call, &stream, (&to, target), (&from, source), bytes)
}

fn between(
    call: &Call,
    stream: &Arc<Stream>,
    target: (&Context, u64),
    source: (&Context, u64),
    bytes: usize,
) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    let state = call.healthy()?;
    start(call, stream, end(state, target, bytes)?, end(state, source, bytes)?, bytes, Mode::Asynchronous)
}

/// A range of the memory of the context's device.
fn end(state: &State, (context, address): (&Context, u64), bytes: usize) -> Outcome<End> {
    let end = End::device(state, address, bytes)?;
    let device = state.memory.find(address).map(|allocation| allocation.device());
    if device == u32::try_from(context.device).ok() { Ok(end) } else { Err(INVALID_VALUE) }
}
