//! `cuIpc*MemHandle`: allocations of one process that another one opens.

use cuda_driver_sys::*;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex};

use super::handle::{Handle, Kind, no_file};
use crate::driver::context::hold::while_idle;
use crate::driver::context::synchronize_all;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, OUT_OF_MEMORY, Out, Outcome, entries};
use crate::driver::memory::allocations::{ALLOCATIONS, Opened, Record};
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, State, lock};
use crate::memory::{Reach, SharedFile};

entries! {
    cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr) = get;
    cuIpcOpenMemHandle_v2(address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint) = open;
    cuIpcCloseMemHandle(address: CUdeviceptr) = close;
}

/// Held while something is exported: of two threads that do it first, one does, after all work.
static EXPORTING: PerSlot<Mutex<()>> = per_slot!(Mutex::new(()));
/// Held while something is opened, for the same. Nobody waits for work meanwhile, which may be what another process waits with.
static OPENING: PerSlot<Mutex<()>> = per_slot!(Mutex::new(()));

/// The handle of the allocation that an address is in, which is opened where that begins.
fn get(call: &Call, handle: Out<CUipcMemHandle>, address: CUdeviceptr) -> Outcome {
    call.context()?;
    let (state, place) = (call.healthy()?, handle.required()?);
    let allocation = state.memory.find(address).ok_or(INVALID_VALUE)?;
    // Memory that `cuMemAlloc` made, here.
    let record = ALLOCATIONS.get(allocation.base()).filter(Record::is_plain).ok_or(INVALID_VALUE)?;
    if allocation.is_managed() {
        return Err(INVALID_VALUE);
    }
    let (base, bytes) = (allocation.base(), allocation.len());
    let made = Handle::new(Kind::Memory, record.id, allocation.device(), bytes);
    drop(allocation);
    let file = shared_file(state, base, &made)?;
    let made = Handle { number: file.number(), ..made };
    place.set(CUipcMemHandle { reserved: made.to_bytes().map(|byte| byte as _) });
    Ok(())
}

/// The file that an allocation is in. At its first export it moves there, which waits for all work, as freeing it would.
fn shared_file(state: &State, base: u64, handle: &Handle) -> Outcome<Arc<SharedFile>> {
    let _one = lock(&EXPORTING);
    if let Some(file) = state.memory.file_of(base) {
        return Ok(file);
    }
    let file = Arc::new(SharedFile::new(&handle.name(), handle.bytes).ok_or_else(no_file)?);
    if while_idle(|| state.memory.move_to(base, &file)) { Ok(file) } else { Err(OUT_OF_MEMORY) }
}

fn open(call: &Call, address: Out<CUdeviceptr>, handle: CUipcMemHandle, flags: c_uint) -> Outcome {
    let context = call.context()?;
    let (state, place) = (call.healthy()?, address.required()?);
    if flags != CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0 {
        return Err(INVALID_VALUE);
    }
    let bytes = handle.reserved.map(|byte| byte as u8);
    let handle = Handle::from_bytes(Kind::Memory, &bytes)?;
    let _one = lock(&OPENING);
    if let Some(address) = ALLOCATIONS.open_again(context.id, &bytes) {
        place.set(address);
        return Ok(());
    }
    let file = Arc::new(handle.open()?);
    let device = CUdevice::try_from(handle.device).map_err(|_| INVALID_VALUE)?;
    checked(device)?;
    let reach = Reach::Granted(1 << context.device);
    let memory = state.memory_of(device)?;
    let opened = memory.open(&file, handle.offset, handle.bytes, reach).map_err(|_| OUT_OF_MEMORY)?;
    ALLOCATIONS.add(opened, Record::opened(context.id, state.id(), Opened { handle: bytes, times: 1 }));
    place.set(opened);
    Ok(())
}

/// The last close waits for all work, as freeing does.
fn close(call: &Call, address: CUdeviceptr) -> Outcome {
    let state = call.healthy()?;
    if let Some(record) = ALLOCATIONS.close(address)? {
        synchronize_all();
        record.give_back(address, state);
    }
    Ok(())
}
