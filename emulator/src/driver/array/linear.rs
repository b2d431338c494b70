//! `cuMemcpy?toA`, `cuMemcpyAto?`: copies between linear memory and the bytes of an array, counted from its first one.

use cuda_driver_sys::*;
use std::ffi::c_void;

use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::memory::copy::{Mode, start};
use crate::driver::state::Call;
use crate::driver::work::ends::End;

entries! {
    cuMemcpyHtoA_v2(array: CUarray, offset: usize, source: *const c_void, bytes: usize) = from_host;
    cuMemcpyHtoAAsync_v2(array: CUarray, offset: usize, source: *const c_void, bytes: usize, stream: CUstream) = from_host_async;
    cuMemcpyAtoH_v2(target: *mut c_void, array: CUarray, offset: usize, bytes: usize) = to_host;
    cuMemcpyAtoHAsync_v2(target: *mut c_void, array: CUarray, offset: usize, bytes: usize, stream: CUstream) = to_host_async;
    cuMemcpyDtoA_v2(array: CUarray, offset: usize, source: CUdeviceptr, bytes: usize) = from_device;
    cuMemcpyAtoD_v2(target: CUdeviceptr, array: CUarray, offset: usize, bytes: usize) = to_device;
    cuMemcpyAtoA_v2(target: CUarray, target_offset: usize, source: CUarray, source_offset: usize, bytes: usize) = between;
}

/// A range of an array's bytes.
fn range(call: &Call, array: CUarray, offset: usize, bytes: usize) -> Outcome<End> {
    let array = call.array(array)?;
    let end = offset.checked_add(bytes).ok_or(INVALID_VALUE)?;
    if end > array.bytes() {
        return Err(INVALID_VALUE);
    }
    Ok(End::Device(array.address + offset as u64))
}

fn from_host(call: &Call, array: CUarray, offset: usize, source: *const c_void, bytes: usize) -> Outcome {
    let (target, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    let source = End::of(state, source.cast_mut().cast(), bytes)?;
    start(call, &call.default_stream()?, target, source, bytes, Mode::Blocking)
}

fn from_host_async(
    call: &Call,
    array: CUarray,
    offset: usize,
    source: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    let (target, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    let source = End::of(state, source.cast_mut().cast(), bytes)?;
    start(call, &call.stream(stream)?, target, source, bytes, Mode::Asynchronous)
}

fn to_host(call: &Call, target: *mut c_void, array: CUarray, offset: usize, bytes: usize) -> Outcome {
    let (source, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    let target = End::of(state, target.cast(), bytes)?;
    start(call, &call.default_stream()?, target, source, bytes, Mode::Blocking)
}

fn to_host_async(
    call: &Call,
    target: *mut c_void,
    array: CUarray,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Outcome {
    let (source, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    let target = End::of(state, target.cast(), bytes)?;
    start(call, &call.stream(stream)?, target, source, bytes, Mode::Asynchronous)
}

fn from_device(call: &Call, array: CUarray, offset: usize, source: CUdeviceptr, bytes: usize) -> Outcome {
    let (target, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    start(
        call,
        &call.default_stream()?,
        target,
        End::device(state, source, bytes)?,
        bytes,
        Mode::Asynchronous,
    )
}

fn to_device(call: &Call, target: CUdeviceptr, array: CUarray, offset: usize, bytes: usize) -> Outcome {
    let (source, state) = (range(call, array, offset, bytes)?, call.healthy()?);
    if bytes == 0 {
        return Ok(());
    }
    start(
        call,
        &call.default_stream()?,
        End::device(state, target, bytes)?,
        source,
        bytes,
        Mode::Asynchronous,
    )
}

fn between(
    call: &Call,
    target: CUarray,
    target_offset: usize,
    source: CUarray,
    source_offset: usize,
    bytes: usize,
) -> Outcome {
    let to = range(call, target, target_offset, bytes)?;
    let from = range(call, source, source_offset, bytes)?;
    // The driver wants elements of one size on both sides.
    if call.array(target)?.texel.bytes() != call.array(source)?.texel.bytes() {
        return Err(INVALID_VALUE);
    }
    if bytes == 0 {
        Ok(())
    } else {
        start(call, &call.default_stream()?, to, from, bytes, Mode::Asynchronous)
    }
}
