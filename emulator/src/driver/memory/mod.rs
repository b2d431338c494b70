//! `cuMem*`: device memory, pinned host memory, copies, fills, pointer queries.

pub(super) mod allocations;
pub(super) mod copy;
pub(super) mod copy_batch;
pub(super) mod copy_rows;
pub(super) mod export;
pub(super) mod host;
pub(super) mod location;
pub(super) mod managed;
pub(super) mod managed_batch;
pub(super) mod origin;
pub(super) mod peer;
pub(super) mod pointer;
pub(super) mod pool;
pub(super) mod pool_sharing;
mod pools;
pub(super) mod set;
pub(super) mod values;
pub(super) mod virtual_memory;

use super::context::synchronize_all;
use super::entry::{INVALID_VALUE, OUT_OF_MEMORY, Out, Outcome, entries};
use super::state::{Call, State};
use super::work::memory::GRAPH_MEMORY;
pub(super) use allocations::ALLOCATIONS;
use allocations::Record;
use cuda_driver_sys::*;
use managed::MANAGED;
pub(super) use pools::POOLS;
use std::ffi::c_uint;

entries! {
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) = allocate;
    cuMemAllocPitch_v2(address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint) = allocate_pitch;
    cuMemFree_v2(address: CUdeviceptr) = free;
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) = get_info;
    cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr) = get_address_range;
}

/// Gives back what a context owns of allocations.
pub(super) fn forget(state: &State, context: u64) {
    for (address, record) in ALLOCATIONS.take_all(context) {
        give_back(state, address, &record);
    }
}

/// Keeps what the host reaches of the memory that contexts own, though these are about to end: the program may hold references to it.
pub(super) fn keep(state: &State) {
    managed::keep(state);
}

/// Gives back what [`keep`] and [`clear`] kept.
pub(super) fn end_left() {
    managed::end_left();
    host::end_left();
}

/// Forgets all memory: no work is left that could use it. Bytes that the host reaches are kept.
pub(super) fn clear(state: &State) {
    GRAPH_MEMORY.clear();
    virtual_memory::clear();
    ALLOCATIONS.clear();
    MANAGED.clear();
    POOLS.clear();
    host::clear(state);
    state.memory.clear();
}

/// Frees an allocation, whose record is gone from the table.
fn give_back(state: &State, address: u64, record: &Record) {
    MANAGED.forget(address);
    record.give_back(address, state);
}

fn allocate(call: &Call, address: Out<CUdeviceptr>, bytes: usize) -> Outcome {
    let context = call.context()?;
    call.unsafe_in_capture()?;
    let place = address.required()?;
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    place.set(call.state()?.allocate(&context, bytes)?);
    Ok(())
}

/// Rows start at multiples of this, as on an H200.
const PITCH: usize = 512;

fn allocate_pitch(
    call: &Call,
    address: Out<CUdeviceptr>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Outcome {
    let context = call.context()?;
    call.unsafe_in_capture()?;
    let (address, pitch) = (address.required()?, pitch.required()?);
    if width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
        return Err(INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(PITCH).ok_or(OUT_OF_MEMORY)?;
    let bytes = row.checked_mul(height).ok_or(OUT_OF_MEMORY)?;
    address.set(call.state()?.allocate(&context, bytes)?);
    pitch.set(row);
    Ok(())
}

/// Waits for all work, as the driver does.
fn free(call: &Call, address: CUdeviceptr) -> Outcome {
    let state = call.healthy()?;
    call.unsafe_in_capture()?;
    if address == 0 {
        return Ok(());
    }
    if let Some(block) = GRAPH_MEMORY.release(address) {
        synchronize_all();
        drop(block);
        return Ok(());
    }
    let Some(record) = ALLOCATIONS.take(address) else {
        // Memory of a context that is gone: driver 580 says so only where that context is current.
        let gone = call.context().err().filter(|code| *code == CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        return Err(gone.unwrap_or(INVALID_VALUE));
    };
    synchronize_all();
    give_back(state, address, &record);
    Ok(())
}

fn get_info(call: &Call, free: Out<usize>, total: Out<usize>) -> Outcome {
    let context = call.context()?;
    let memory = &context.memory;
    free.set(memory.capacity().saturating_sub(memory.used()) as usize);
    total.set(memory.capacity() as usize);
    Ok(())
}

fn get_address_range(
    call: &Call,
    base: Out<CUdeviceptr>,
    bytes: Out<usize>,
    address: CUdeviceptr,
) -> Outcome {
    call.context()?;
    let state = call.state()?;
    let allocation = state.memory.find(address).filter(|_| state.is_device_range(address, 0));
    let allocation = allocation.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    base.set(allocation.base());
    bytes.set(allocation.len() as usize);
    Ok(())
}
