//! `cuMemcpy*` between linear ranges.
//!
//! Relies on the program: host ranges it names are valid during the call, and pinned ones until their copy is done.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::{fault, virtual_memory};
use crate::driver::entry::{INVALID_VALUE, Outcome, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::graph::copy::Copy3d;
use crate::driver::graph::operation::Operation;
use crate::driver::state::{Call, State};
use crate::driver::stream::{Stream, Work};
use crate::engine::Fault;
use crate::memory::{BadRange, Memory, access};
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

/// One end of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum End {
    Device(u64),
    /// Memory that only this call may touch.
    Pageable(Host),
    /// Memory that the copy touches when its turn comes: pinned, or managed.
    Pinned(Host),
}

/// A host address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Host(*mut u8);

// SAFETY: pinned memory may be touched from any thread until the copy is done; pageable memory never leaves the calling
// thread, which `start` sees to.
unsafe impl Send for Host {}
// SAFETY: a shared reference only gives copies, which may go to other threads as above.
unsafe impl Sync for Host {}

/// Where device addresses lie: one in here that is not allocated is a mistake, not a host address.
const DEVICE_WINDOW: std::ops::Range<u64> = virtual_memory::FIRST..0x5000_0000_0000;
/// Bytes copied at a time where a copy goes through a buffer.
pub(in crate::driver) const CHUNK: usize = 64 << 10;

impl End {
    /// The same memory from `offset` bytes on.
    pub(in crate::driver) fn further(self, offset: usize) -> End {
        match self {
            End::Device(address) => End::Device(address.wrapping_add(offset as u64)),
            End::Pageable(host) => End::Pageable(Host(host.0.wrapping_add(offset))),
            End::Pinned(host) => End::Pinned(Host(host.0.wrapping_add(offset))),
        }
    }

    /// The same memory for a copy that is kept: host memory is touched when its turn comes, of whatever kind it is.
    pub(super) fn kept(self) -> End {
        match self {
            End::Pageable(host) => End::Pinned(host),
            end => end,
        }
    }

    /// What an address is, and that the range is good as far as can be told.
    pub(in crate::driver) fn of(state: &State, pointer: *mut u8, bytes: usize) -> Outcome<End> {
        let address = pointer.addr();
        let known = state.memory.find(address as u64);
        let on_host = known.as_ref().is_some_and(|allocation| allocation.is_on_host());
        if !on_host && (DEVICE_WINDOW.contains(&(address as u64)) || known.is_some()) {
            return End::device(state, address as u64, bytes);
        }
        match known {
            _ if pointer.is_null() => Err(INVALID_VALUE),
            Some(_) if state.memory.contains(address as u64, bytes as u64) => Ok(End::Pinned(Host(pointer))),
            _ => Ok(End::Pageable(Host(pointer))),
        }
    }

    /// A device range.
    pub(in crate::driver) fn device(state: &State, address: u64, bytes: usize) -> Outcome<End> {
        if state.is_device_range(address, bytes as u64) {
            Ok(End::Device(address))
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// The address as a graph keeps it: memory type, and the pointer as a number.
    fn address(self) -> (CUmemorytype, u64) {
        match self {
            End::Device(address) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, address),
            End::Pageable(host) | End::Pinned(host) => {
                (CUmemorytype::CU_MEMORYTYPE_HOST, host.0.expose_provenance() as u64)
            }
        }
    }

    /// A generic address as the API passes it.
    pub(in crate::driver) fn generic(state: &State, address: CUdeviceptr, bytes: usize) -> Outcome<End> {
        let address = usize::try_from(address).map_err(|_| INVALID_VALUE)?;
        End::of(state, std::ptr::with_exposed_provenance_mut(address), bytes)
    }
}

/// Copies now.
///
/// # Safety
///
/// 1. Host ends are valid for `bytes` bytes.
pub(in crate::driver) unsafe fn transfer(
    memory: &Memory,
    target: End,
    source: End,
    bytes: usize,
) -> Result<(), BadRange> {
    // SAFETY: every host range below is an end with `bytes` bytes: the caller's duty 1.
    unsafe {
        match (target, source) {
            (End::Device(target), End::Device(source)) => memory.copy(target, source, bytes as u64),
            (End::Device(target), End::Pageable(host)) => {
                memory.copy_from_host(target, std::slice::from_raw_parts(host.0.cast(), bytes))
            }
            (End::Pageable(host), End::Device(source)) => {
                memory.copy_to_host(source, std::slice::from_raw_parts_mut(host.0.cast(), bytes))
            }
            // The program may touch pinned memory at the same time, which is its mistake and not undefined here.
            (End::Device(target), End::Pinned(host)) => chunks(bytes, |at, buffer| {
                access::read(host.0.add(at), buffer);
                memory.copy_from_host(target + at as u64, buffer)
            }),
            (End::Pinned(host), End::Device(source)) => chunks(bytes, |at, buffer| {
                memory.copy_to_host(source + at as u64, buffer)?;
                access::write(host.0.add(at), buffer);
                Ok(())
            }),
            (End::Pageable(target) | End::Pinned(target), End::Pageable(source) | End::Pinned(source)) => {
                target.0.copy_from(source.0, bytes);
                Ok(())
            }
        }
    }
}

/// Calls `copy` with the offset of each chunk and a buffer of its size.
fn chunks(
    bytes: usize,
    mut copy: impl FnMut(usize, &mut [MaybeUninit<u8>]) -> Result<(), BadRange>,
) -> Result<(), BadRange> {
    let mut buffer = vec![MaybeUninit::uninit(); bytes.min(CHUNK)];
    (0..bytes).step_by(CHUNK).try_for_each(|at| {
        let part = buffer.len().min(bytes - at);
        copy(at, buffer.get_mut(..part).unwrap_or_default())
    })
}

/// How a copy behaves towards its caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Mode {
    /// Returns when the copy is done, if a host range takes part.
    Blocking,
    /// Returns at once where it can.
    Asynchronous,
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
    let (state, name) = (call.state()?, call.name);
    if let Some(recorder) = recorder(stream)? {
        let copy = Copy3d::line(call, target.address(), source.address(), bytes)?;
        return recorder.add(state, Operation::Copy(copy)).map(|_| ());
    }
    let run = move |target, source| -> Result<(), Box<Fault>> {
        // SAFETY: device ends are checked; pinned ends are valid until the copy is done, and pageable ones only get here
        // while the call lasts.
        unsafe { transfer(&state.memory, target, source, bytes) }.map_err(|error| fault(name, &error))
    };
    match (target, source) {
        (End::Device(_), End::Device(_)) if bytes <= CHUNK => {
            stream.submit_small(move || run(target, source))
        }
        (End::Device(_), End::Device(_)) => submit(stream, move || run(target, source)),
        (End::Device(_), End::Pinned(_)) | (End::Pinned(_), End::Device(_)) if mode == Mode::Asynchronous => {
            submit(stream, move || run(target, source))
        }
        // The source is free for reuse when the call returns: what cannot be copied now is kept.
        (End::Device(address), End::Pageable(host)) if mode == Mode::Asynchronous && !stream.is_idle() => {
            // SAFETY: valid during the call; a part may be padding.
            let kept: Box<[MaybeUninit<u8>]> =
                unsafe { std::slice::from_raw_parts(host.0.cast(), bytes) }.into();
            let run = move || state.memory.copy_from_host(address, &kept);
            submit(stream, move || run().map_err(|error| fault(name, &error)))
        }
        _ => {
            let done =
                stream.perform(|| if state.fault.check().is_ok() { run(target, source) } else { Ok(()) });
            if let Err(report) = done {
                state.fault.raise(*report);
            }
            call.healthy().map(|_| ())
        }
    }
}

pub(in crate::driver) fn submit(
    stream: &Arc<Stream>,
    run: impl FnOnce() -> Result<(), Box<Fault>> + Send + 'static,
) -> Outcome {
    stream.submit(None, Work::Run(Box::new(run))).map(|_| ())
}

fn host_to_device(call: &Call, target: CUdeviceptr, source: *const c_void, bytes: usize) -> Outcome {
    from_host(call, &call.context()?.legacy(), target, source, bytes, Mode::Blocking)
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
    to_host(call, &call.context()?.legacy(), target, source, bytes, Mode::Blocking)
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
    on_device(call, &call.context()?.legacy(), target, source, bytes)
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
    generic(call, &call.context()?.legacy(), target, source, bytes, Mode::Blocking)
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
