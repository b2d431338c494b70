//! `cuMemcpy*` between linear ranges.

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use crate::driver::entry::{Outcome, entries};
use crate::driver::state::Call;
use crate::driver::stream::{Pace, Stream};
use crate::driver::work::Work;
use crate::driver::work::copy::Copy3d;
use crate::driver::work::ends::{CHUNK, End};

entries! {
    cuMemcpyHtoD_v2(target: CUdeviceptr, source: *const c_void, bytes: usize) = host_to_device;
    cuMemcpyDtoH_v2(target: *mut c_void, source: CUdeviceptr, bytes: usize) = device_to_host;
    cuMemcpyDtoD_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) = device_to_device;
    cuMemcpy(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) = any;
    cuMemcpyHtoDAsync_v2(target: CUdeviceptr, source: *const c_void, bytes: usize, stream: CUstream) = host_to_device_async;
    cuMemcpyDtoHAsync_v2(target: *mut c_void, source: CUdeviceptr, bytes: usize, stream: CUstream) = device_to_host_async;
    cuMemcpyDtoDAsync_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize, stream: CUstream) = device_to_device_async;
    cuMemcpyAsync(target: CUdeviceptr, source: CUdeviceptr, bytes: usize, stream: CUstream) = any_async;
}

/// How a copy behaves towards its caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Mode {
    /// Returns when the copy is done, if a host range takes part.
    Blocking,
    /// Returns at once where it can.
    Asynchronous,
}

/// How the call proceeds with a copy.
fn pace(target: End, source: End, bytes: usize, mode: Mode) -> Pace {
    match (target, source) {
        (End::Device(_), End::Device(_)) if bytes <= CHUNK => Pace::Small,
        (End::Device(_), End::Device(_)) => Pace::Queued,
        (End::Device(_), End::Pinned(_)) | (End::Pinned(_), End::Device(_)) if mode == Mode::Asynchronous => {
            Pace::Queued
        }
        // The source is free for reuse when the call returns.
        (End::Device(_), End::Pageable(_)) if mode == Mode::Asynchronous => Pace::Detached,
        _ => Pace::Blocking,
    }
}

/// Does the copy in the stream's order.
pub(in crate::driver) fn start(
    call: &Call,
    stream: &Arc<Stream>,
    target: End,
    source: End,
    bytes: usize,
    mode: Mode,
) -> Outcome {
    let copy = Work::Copy(Copy3d::line(target, source, bytes));
    stream.give(call, copy, pace(target, source, bytes, mode)).map(|_| ())
}

fn host_to_device(call: &Call, target: CUdeviceptr, source: *const c_void, bytes: usize) -> Outcome {
    from_host(call, &call.default_stream()?, target, source, bytes, Mode::Blocking)
}

fn host_to_device_async(
    call: &Call,
    target: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    from_host(call, &call.stream(stream)?, target, source, bytes, Mode::Asynchronous)
}

fn from_host(
    call: &Call,
    stream: &Arc<Stream>,
    target: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
    mode: Mode,
) -> Outcome {
    let state = call.healthy()?;
    if bytes == 0 {
        return Ok(());
    }
    let target = End::device(state, target, bytes)?;
    start(call, stream, target, End::of(state, source.cast_mut().cast(), bytes)?, bytes, mode)
}

fn device_to_host(call: &Call, target: *mut c_void, source: CUdeviceptr, bytes: usize) -> Outcome {
    to_host(call, &call.default_stream()?, target, source, bytes, Mode::Blocking)
}

fn device_to_host_async(
    call: &Call,
    target: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    to_host(call, &call.stream(stream)?, target, source, bytes, Mode::Asynchronous)
}

fn to_host(
    call: &Call,
    stream: &Arc<Stream>,
    target: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
    mode: Mode,
) -> Outcome {
    let state = call.healthy()?;
    if bytes == 0 {
        return Ok(());
    }
    let source = End::device(state, source, bytes)?;
    start(call, stream, End::of(state, target.cast(), bytes)?, source, bytes, mode)
}

fn device_to_device(call: &Call, target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Outcome {
    on_device(call, &call.default_stream()?, target, source, bytes)
}

fn device_to_device_async(
    call: &Call,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    on_device(call, &call.stream(stream)?, target, source, bytes)
}

fn on_device(
    call: &Call,
    stream: &Arc<Stream>,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
) -> Outcome {
    let state = call.healthy()?;
    if bytes == 0 {
        return Ok(());
    }
    let (target, source) = (End::device(state, target, bytes)?, End::device(state, source, bytes)?);
    start(call, stream, target, source, bytes, Mode::Asynchronous)
}

fn any(call: &Call, target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Outcome {
    generic(call, &call.default_stream()?, target, source, bytes, Mode::Blocking)
}

fn any_async(
    call: &Call,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    generic(call, &call.stream(stream)?, target, source, bytes, Mode::Asynchronous)
}

pub(in crate::driver) fn generic(
    call: &Call,
    stream: &Arc<Stream>,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    mode: Mode,
) -> Outcome {
    let state = call.healthy()?;
    if bytes == 0 {
        return Ok(());
    }
    let (target, source) = (End::generic(state, target, bytes)?, End::generic(state, source, bytes)?);
    start(call, stream, target, source, bytes, mode)
}
