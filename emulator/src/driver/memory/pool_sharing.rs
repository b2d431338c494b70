//! Pools that other processes can have, by descriptor, and single allocations of them, by 64 bytes. Linux only.
//!
//! A pool that is made for it is one file, and its allocations are parts of that: who has the descriptor has them all.
//!
//! Relies on the caller for its descriptors, and for the place of the one that it is given: C1 and C3 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::allocations::{ALLOCATIONS, Record};
use super::export::is_known;
use super::pools::{POOLS, Pool};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, In, OUT_OF_MEMORY, Out, Outcome, Untyped, entries};
use crate::driver::exhausted::exhausted;
use crate::driver::handles::to_c;
use crate::driver::ipc::handle::{Handle, Kind, no_file};
use crate::driver::state::{Call, State, lock};
use crate::memory::{ALIGNMENT, Memory, Reach, SharedFile, SharedPool};

entries! {
    cuMemPoolExportToShareableHandle(shared: *mut c_void, pool: CUmemoryPool, kind: CUmemAllocationHandleType, flags: c_ulonglong) = export;
    cuMemPoolImportFromShareableHandle(pool: *mut CUmemoryPool, shared: *mut c_void, kind: CUmemAllocationHandleType, flags: c_ulonglong) = import;
    cuMemPoolExportPointer(data: *mut CUmemPoolPtrExportData, address: CUdeviceptr) = export_pointer;
    cuMemPoolImportPointer(address: *mut CUdeviceptr, pool: CUmemoryPool, data: *mut CUmemPoolPtrExportData) = import_pointer;
}

/// Where the memory of a pool is that other processes can have.
pub(in crate::driver) enum Sharing {
    /// It is this process's alone.
    None,
    /// In its own file.
    Own {
        file: Arc<SharedPool>,
        handle: Handle,
        /// Whether anybody was given the file: before that there is no point in exporting an allocation.
        exported: AtomicBool,
    },
    /// In the file of another pool, of this process or another. Nothing can be allocated from it.
    Imported { file: Arc<SharedFile>, handle: Handle },
}

impl Sharing {
    /// A file for a pool of a device, in which every allocation has its own pages.
    pub(super) fn new(state: &State, device: CUdevice) -> Outcome<Sharing> {
        let memory = state.memory_of(device)?;
        // Room for as many allocations as the device has, though each is rounded up to a page. Nothing of it is used before.
        let room = memory.capacity().saturating_mul(4096 / ALIGNMENT).min(1 << 46).min(SharedFile::longest());
        let handle = Handle::new(Kind::Pool, state.id(), device.unsigned_abs(), 0);
        let file = SharedFile::new(&handle.name(), room).ok_or_else(no_file)?;
        Ok(Sharing::Own { file: SharedPool::new(file), handle, exported: AtomicBool::new(false) })
    }

    /// Whether it is the memory of another pool.
    pub(super) fn is_imported(&self) -> bool {
        matches!(self, Sharing::Imported { .. })
    }

    /// Whether other processes can have it.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Sharing::None)
    }

    /// Memory for an allocation, which devices reach as `reach` says.
    pub(super) fn allocate(&self, memory: &Memory, bytes: u64, reach: Reach) -> Outcome<u64> {
        let allocated = match self {
            Sharing::None => memory.allocate_for(bytes, reach),
            Sharing::Own { file, .. } => memory.allocate_shared(file, bytes, reach),
            Sharing::Imported { .. } => return Err(INVALID_VALUE),
        };
        allocated.map_err(|_| exhausted(memory, bytes))
    }
}

/// A descriptor, which is the caller's to close.
#[cfg(target_os = "linux")]
fn descriptor(file: &SharedFile) -> Option<c_int> {
    file.export().map(std::os::fd::IntoRawFd::into_raw_fd)
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_: &SharedFile) -> Option<c_int> {
    None
}

/// The file behind a descriptor, and its name.
///
/// # Safety
///
/// 1. It is open until this returns.
#[cfg(target_os = "linux")]
unsafe fn behind(descriptor: c_int) -> Option<(SharedFile, String)> {
    // SAFETY: 1: it is open until this returns: the caller's duty 1, which is the same.
    unsafe { SharedFile::import(descriptor) }
}

#[cfg(not(target_os = "linux"))]
unsafe fn behind(_: c_int) -> Option<(SharedFile, String)> {
    None
}

fn export(
    call: &Call,
    shared: Untyped,
    pool: CUmemoryPool,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Outcome {
    call.healthy()?;
    let place = shared.required()?;
    let pool = POOLS.get(pool)?;
    is_known(kind)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // Only what was made for it, and here.
    let Sharing::Own { file, exported, .. } = &pool.sharing else { return Err(INVALID_VALUE) };
    let descriptor = descriptor(file.file()).ok_or(CUresult::CUDA_ERROR_OPERATING_SYSTEM)?;
    exported.store(true, Ordering::Relaxed);
    // SAFETY: 1: not null, as `required` looked; `is_known` refuses kinds other than descriptors, which are an `int`, as this one is.
    unsafe { place.write(descriptor) };
    Ok(())
}

/// The descriptor stays the caller's.
fn import(
    call: &Call,
    pool: Out<CUmemoryPool>,
    shared: *mut c_void,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Outcome {
    call.healthy()?;
    let place = pool.required()?;
    is_known(kind)?;
    let descriptor = c_int::try_from(shared.addr()).map_err(|_| INVALID_VALUE)?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: for this kind, the only one that `is_known` takes, the documentation says that the pointer is the number of a descriptor, which
    // the caller has open for the call (C3: what the kind names).
    let (file, name) = unsafe { behind(descriptor) }.ok_or(INVALID_VALUE)?;
    let handle = Handle::of_name(Kind::Pool, &name).ok_or(INVALID_VALUE)?;
    let device = CUdevice::try_from(handle.device).map_err(|_| INVALID_VALUE)?;
    checked(device)?;
    let sharing = Sharing::Imported { file: Arc::new(file), handle };
    let pool = Pool::with(POOLS.handles.reserve(), device, 0, sharing);
    POOLS.handles.insert(pool.handle, Arc::clone(&pool));
    place.set(to_c(pool.handle));
    Ok(())
}

/// Of the start of an allocation of a pool that was exported.
fn export_pointer(call: &Call, data: Out<CUmemPoolPtrExportData>, address: CUdeviceptr) -> Outcome {
    let state = call.healthy()?;
    let place = data.required()?;
    let record = ALLOCATIONS.get(address).filter(Record::is_in_use).ok_or(INVALID_VALUE)?;
    let pool = record.pool.ok_or(INVALID_VALUE)?;
    let Sharing::Own { handle, exported, .. } = &pool.sharing else { return Err(INVALID_VALUE) };
    if !exported.load(Ordering::Relaxed) {
        return Err(INVALID_VALUE);
    }
    let offset = state.memory.offset_of(address).ok_or(INVALID_VALUE)?;
    let bytes = state.memory.find(address).ok_or(INVALID_VALUE)?.len();
    place.set(CUmemPoolPtrExportData { reserved: Handle { offset, bytes, ..*handle }.to_bytes() });
    Ok(())
}

/// An allocation of the pool that was imported. It is freed like others, here and where it was made.
fn import_pointer(
    call: &Call,
    address: Out<CUdeviceptr>,
    pool: CUmemoryPool,
    data: In<CUmemPoolPtrExportData>,
) -> Outcome {
    let context = call.context()?;
    let (state, place) = (call.healthy()?, address.required()?);
    let (pool, data) = (POOLS.get(pool)?, data.read()?);
    let Sharing::Imported { file, handle } = &pool.sharing else { return Err(INVALID_VALUE) };
    let part = Handle::from_bytes(Kind::Pool, &data.reserved)?;
    if !part.is_beside(handle) {
        return Err(INVALID_VALUE);
    }
    let end = part.offset.checked_add(part.bytes).filter(|end| *end <= file.len());
    if end.is_none() || part.bytes == 0 {
        return Err(INVALID_VALUE);
    }
    pool.take(part.bytes)?;
    let reach = Reach::Granted(lock(&pool.inner).granted());
    let opened = state.memory_of(pool.device)?.open(file, part.offset, part.bytes, reach);
    let address = opened.map_err(|_| {
        pool.give_back(part.bytes);
        OUT_OF_MEMORY
    })?;
    ALLOCATIONS.add(address, Record::of_pool(context.id, state.id(), &pool));
    place.set(address);
    Ok(())
}
