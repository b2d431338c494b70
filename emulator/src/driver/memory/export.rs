//! Memory shared between processes by file descriptors. Linux only.
//!
//! Relies on the caller for its descriptors, and for the place of the one that it is given: C1 and C3 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::sync::Arc;

use super::virtual_memory::{keep, memory_of};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, Untyped, entries};
use crate::driver::since::Known;
use crate::driver::state::Call;
use crate::memory::{Memory, Physical};

entries! {
    cuMemExportToShareableHandle(shared: *mut c_void, handle: CUmemGenericAllocationHandle, kind: CUmemAllocationHandleType, flags: c_ulonglong) = export;
    cuMemImportFromShareableHandle(handle: *mut CUmemGenericAllocationHandle, shared: *mut c_void, kind: CUmemAllocationHandleType) = import;
}

/// The one kind of handles that other processes can open.
pub(super) const KIND: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Memory that can be exported; `None` if there is none left.
pub(super) fn create(memory: &Memory, bytes: u64) -> Option<Arc<Physical>> {
    #[cfg(target_os = "linux")]
    return memory.create_shared(bytes).ok();
    #[cfg(not(target_os = "linux"))]
    return {
        _ = (memory, bytes);
        None
    };
}

/// A descriptor, which is the caller's to close.
#[cfg(target_os = "linux")]
fn descriptor(memory: &Physical) -> Option<c_int> {
    memory.export().map(std::os::fd::IntoRawFd::into_raw_fd)
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_: &Physical) -> Option<c_int> {
    None
}

/// What is behind a descriptor.
///
/// # Safety
///
/// 1. It is open until this returns.
#[cfg(target_os = "linux")]
unsafe fn behind(descriptor: c_int) -> Option<Physical> {
    // SAFETY: 1: it is open until this returns: the caller's duty 1, which is the same.
    unsafe { Physical::import(descriptor) }
}

#[cfg(not(target_os = "linux"))]
unsafe fn behind(_: c_int) -> Option<Physical> {
    None
}

/// Refuses all kinds of handles but the one that there is.
pub(super) fn is_known(kind: CUmemAllocationHandleType) -> Outcome {
    match kind.known()? {
        KIND if cfg!(target_os = "linux") => Ok(()),
        CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE => Err(INVALID_VALUE),
        _ => Err(NOT_SUPPORTED),
    }
}

fn export(
    call: &Call,
    shared: Untyped,
    handle: CUmemGenericAllocationHandle,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Outcome {
    call.healthy()?;
    let place = shared.required()?;
    is_known(kind)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let memory = memory_of(handle)?;
    // Only what was made for it.
    let descriptor = descriptor(&memory).ok_or(INVALID_VALUE)?;
    // SAFETY: 1: not null, as `required` looked; `is_known` refuses kinds other than descriptors, which are an `int`, as this one is.
    unsafe { place.write(descriptor) };
    Ok(())
}

/// The descriptor stays the caller's; the memory is there as long as any process has it.
fn import(
    call: &Call,
    handle: Out<CUmemGenericAllocationHandle>,
    shared: *mut c_void,
    kind: CUmemAllocationHandleType,
) -> Outcome {
    call.healthy()?;
    let place = handle.required()?;
    is_known(kind)?;
    let descriptor = c_int::try_from(shared.addr()).map_err(|_| INVALID_VALUE)?;
    // SAFETY: 1: for this kind, the only one that `is_known` takes, the documentation says that the pointer is the number of a descriptor, which
    // the caller has open for the call (C3: what the kind names).
    let memory = unsafe { behind(descriptor) }.ok_or(INVALID_VALUE)?;
    let device = memory.device() as CUdevice;
    checked(device)?;
    place.set(keep(Arc::new(memory), device));
    Ok(())
}
