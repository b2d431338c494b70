//! As much of NCCL as the examples call, on the driver that `CUDA_LAUNCH_DRIVER` names: sums on the host, where the group
//! ends or in the order of the stream, and prints each call with what it was given.

#![allow(unsafe_code)] // C functions, called by a program that keeps to NCCL's rules.
#![allow(non_snake_case)]

use cuda_driver_sys::{CUcontext, CUdeviceptr, CUresult, CUstream, Driver};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::ranks;

/// `ncclSuccess`, `ncclUnhandledCudaError`, `ncclSystemError`, `ncclInvalidArgument`, `ncclInvalidUsage`, `ncclInProgress`
pub(crate) const OK: c_int = 0;
pub(crate) const CUDA: c_int = 1;
pub(crate) const SYSTEM: c_int = 2;
const ARGUMENT: c_int = 4;
const USAGE: c_int = 5;
pub(crate) const IN_PROGRESS: c_int = 7;
/// The communicator of several processes; those of `ncclCommInitAll` are small numbers.
const RANKS: usize = 1 << 20;
const FLOAT32: c_int = 7;

static DRIVER: LazyLock<Option<Driver>> = LazyLock::new(|| {
    let path = std::env::var_os("CUDA_LAUNCH_DRIVER")?;
    // SAFETY: 1, 2: the test sets the variable to the emulator's library, whose initialisers are sound and whose functions are
    // the driver's.
    unsafe { Driver::open(path) }.ok()
});

/// One rank's part of the sum.
struct Part {
    context: usize,
    from: CUdeviceptr,
    to: CUdeviceptr,
    count: usize,
    stream: usize,
}

#[derive(Default)]
struct State {
    /// Primary contexts and their devices, by communicator: its number less one.
    contexts: Vec<(usize, c_int)>,
    group: Option<Vec<Part>>,
}

static STATE: Mutex<State> = Mutex::new(State { contexts: Vec::new(), group: None });

fn state() -> std::sync::MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn cuda(code: CUresult) -> Result<(), c_int> {
    if code == CUresult::SUCCESS { Ok(()) } else { Err(CUDA) }
}

/// The version: 2.27.3.
///
/// # Safety
/// 1. `version` is an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: it may be written, by the caller's duty 1.
    unsafe { version.write(22_703) };
    OK
}

/// A communicator for each of these devices.
///
/// # Safety
/// 1. `comms` and `devices` have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitAll(
    comms: *mut *mut c_void,
    count: c_int,
    devices: *const c_int,
) -> c_int {
    // SAFETY: so many numbers are there, by the caller's duty 1; the program leaves them as they are during the call.
    let devices = unsafe { std::slice::from_raw_parts(devices, count as usize) };
    eprintln!("nccl CommInitAll {devices:?}");
    let Some(driver) = DRIVER.as_ref() else { return CUDA };
    for (index, device) in devices.iter().enumerate() {
        let mut context = null_mut();
        // SAFETY: the output is a local that outlives the call; a number that is no device's the driver refuses.
        if unsafe { driver.cuDevicePrimaryCtxRetain(&mut context, *device) } != CUresult::SUCCESS {
            return CUDA;
        }
        state().contexts.push((context.addr(), *device));
        // SAFETY: `index` is below `count`, and so many places are there, by the caller's duty 1.
        unsafe { comms.add(index).write(without_provenance_mut(index + 1)) };
    }
    OK
}

/// Calls from here on are taken together.
#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupStart() -> c_int {
    eprintln!("nccl GroupStart");
    state().group = Some(Vec::new());
    OK
}

/// Notes one rank's part, to be summed when the group ends.
///
/// # Safety
/// 1. As NCCL asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAllReduce(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    kind: c_int,
    operation: c_int,
    comm: *mut c_void,
    stream: CUstream,
) -> c_int {
    if comm.addr() == RANKS {
        let Some(driver) = DRIVER.as_ref() else { return CUDA };
        if kind != FLOAT32 || operation != 0 || from != to {
            return ARGUMENT;
        }
        // SAFETY: 1: by the caller's duty 1, as NCCL asks for it.
        return unsafe { ranks::all_reduce(driver, to.addr() as CUdeviceptr, count, stream) };
    }
    let rank = comm.addr().wrapping_sub(1);
    eprintln!(
        "nccl AllReduce {rank} {from:p} -> {to:p} count={count} type={kind} op={operation} stream={stream:p}"
    );
    let mut state = state();
    let Some((context, _)) = state.contexts.get(rank).copied() else { return ARGUMENT };
    let Some(group) = &mut state.group else { return USAGE };
    if kind != FLOAT32 || operation != 0 {
        return ARGUMENT;
    }
    let (from, to) = (from.addr() as CUdeviceptr, to.addr() as CUdeviceptr);
    group.push(Part { context, from, to, count, stream: stream.addr() });
    OK
}

/// Does what was called since the group's start.
///
/// # Safety
/// 1. As NCCL asks: memory and streams of those calls are there, each on the device of its communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGroupEnd() -> c_int {
    eprintln!("nccl GroupEnd");
    let mut state = state();
    let (Some(driver), Some(parts)) = (DRIVER.as_ref(), state.group.take()) else { return USAGE };
    if parts.len() != state.contexts.len() {
        return USAGE; // the real one would wait for ever
    }
    // SAFETY: 1: the caller's duty 1, of the parts that those calls noted.
    unsafe { sum(driver, &parts) }.err().unwrap_or(OK)
}

/// Every rank gets the sum of all, on its stream.
///
/// # Safety
/// 1. Each part has `count` floats at `from` and at `to`, which nobody else uses meanwhile; they and its stream are
///    live, and of its context's device.
unsafe fn sum(driver: &Driver, parts: &[Part]) -> Result<(), c_int> {
    let enter = |part: &Part| {
        let context: CUcontext = without_provenance_mut(part.context);
        // SAFETY: `ncclCommInitAll` retained it, and nothing here releases it.
        cuda(unsafe { driver.cuCtxSetCurrent(context) }).map(|()| without_provenance_mut(part.stream))
    };
    let mut before = null_mut();
    // SAFETY: the output is a local that outlives the call.
    cuda(unsafe { driver.cuCtxGetCurrent(&mut before) })?;
    let mut total = vec![0.0f32; parts.iter().map(|part| part.count).max().unwrap_or(0)];
    for part in parts {
        let stream: CUstream = enter(part)?;
        let mut own = vec![0.0f32; part.count];
        // SAFETY: by the caller's duty 1 the memory has so many floats, and the stream lives and is of this device,
        // whose context `enter` made current; `own` has so many, too, and is there until the stream was waited for,
        // and, not being pinned, is written before the copy returns, should that wait fail.
        unsafe {
            cuda(driver.cuMemcpyDtoHAsync(own.as_mut_ptr().cast(), part.from, 4 * part.count, stream))?;
            cuda(driver.cuStreamSynchronize(stream))?;
        }
        total.iter_mut().zip(&own).for_each(|(total, own)| *total += own);
    }
    for part in parts {
        let stream: CUstream = enter(part)?;
        // SAFETY: as above; `total` has at least as many floats as each part, outlives the wait, and, not being pinned,
        // is read before the copy returns, should the wait fail.
        unsafe {
            cuda(driver.cuMemcpyHtoDAsync(part.to, total.as_ptr().cast(), 4 * part.count, stream))?;
            cuda(driver.cuStreamSynchronize(stream))?;
        }
    }
    // SAFETY: it was current before, and its owner keeps it during this call; or it is null, which is allowed.
    cuda(unsafe { driver.cuCtxSetCurrent(before) })
}

/// What all ranks of a communicator are given.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UniqueId([u8; 128]);

/// What a communicator shall be: the oldest form that has `blocking`.
#[derive(Debug)]
#[repr(C)]
pub struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
}

/// Makes an identifier.
///
/// # Safety
/// 1. `id` is an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> c_int {
    let Ok(port) = ranks::port() else { return SYSTEM };
    let mut bytes = [0; 128];
    bytes[..2].copy_from_slice(&port.to_le_bytes());
    // SAFETY: it may be written, by the caller's duty 1.
    unsafe { id.write(UniqueId(bytes)) };
    OK
}

/// Begins to join the ranks with that identifier.
///
/// # Safety
/// 1. `comm` is an output, `config` points to a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut *mut c_void,
    world: c_int,
    id: UniqueId,
    rank: c_int,
    config: *const Config,
) -> c_int {
    eprintln!("nccl CommInitRankConfig {rank} of {world}");
    // SAFETY: it is a configuration of this layout, by the caller's duty 1, which the program leaves as it is during
    // the call.
    let config = unsafe { &*config };
    let known = config.size == size_of::<Config>() && config.magic == 0xcafe_beef && config.version >= 21400;
    if !known || config.blocking != 0 {
        return ARGUMENT;
    }
    let [low, high, ..] = id.0;
    ranks::join(rank as u32, world as u32, u16::from_le_bytes([low, high]));
    // SAFETY: it may be written, by the caller's duty 1.
    unsafe { comm.write(without_provenance_mut(RANKS)) };
    IN_PROGRESS
}

/// Whether a non-blocking call is still going on, or how it ended.
///
/// # Safety
/// 1. `state` is an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(_: *mut c_void, state: *mut c_int) -> c_int {
    // SAFETY: it may be written, by the caller's duty 1.
    unsafe { state.write(ranks::state()) };
    OK
}

/// Ends a communicator whose work is done.
#[unsafe(no_mangle)]
pub extern "C" fn ncclCommFinalize(_: *mut c_void) -> c_int {
    eprintln!("nccl CommFinalize");
    OK
}

/// Ends a communicator whose work may never be done.
#[unsafe(no_mangle)]
pub extern "C" fn ncclCommAbort(_: *mut c_void) -> c_int {
    eprintln!("nccl CommAbort");
    ranks::abort();
    OK
}

/// Ends a communicator.
///
/// # Safety
/// 1. As NCCL asks: its work is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommDestroy(comm: *mut c_void) -> c_int {
    if comm.addr() == RANKS {
        eprintln!("nccl CommDestroy");
        // SAFETY: 1: the caller's duty 1: all sums are of this communicator.
        return DRIVER.as_ref().map_or(CUDA, |driver| unsafe { ranks::destroy(driver) });
    }
    let rank = comm.addr().wrapping_sub(1);
    eprintln!("nccl CommDestroy {rank}");
    let Some((_, device)) = state().contexts.get(rank).copied() else { return ARGUMENT };
    // SAFETY: it takes the number of a device, whose context `ncclCommInitAll` retained for this communicator; its work is done, by the
    // caller's duty 1.
    let released = |driver: &Driver| cuda(unsafe { driver.cuDevicePrimaryCtxRelease(device) });
    DRIVER.as_ref().map_or(CUDA, |driver| released(driver).err().unwrap_or(OK))
}

/// A code in words.
#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    match code {
        OK => c"no error",
        CUDA => c"unhandled cuda error",
        SYSTEM => c"unhandled system error",
        ARGUMENT => c"invalid argument",
        USAGE => c"invalid usage",
        _ => c"unknown result code",
    }
    .as_ptr()
}
