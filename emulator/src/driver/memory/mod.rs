//! `cuMem*`: device memory, pinned host memory, copies, fills, pointer queries.

pub(super) mod copy;
pub(super) mod copy_batch;
pub(super) mod copy_rows;
pub(super) mod host;
mod location;
pub(super) mod managed;
pub(super) mod peer;
pub(super) mod pointer;
pub(super) mod pool;
pub(super) mod set;
pub(super) mod values;
pub(super) mod virtual_memory;

use super::context::Context;
use super::entry::{INVALID_VALUE, Out, Outcome, entries};
use super::state::{Call, State, lock};
use crate::engine::{Fault, FaultKind};
use crate::memory::BadRange;
use crate::memory::Reach;
use cuda_driver_sys::*;
pub(super) use host::Pinned;
pub(super) use managed::Managed;
pub(super) use pool::Pools;
use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex};
pub(super) use virtual_memory::VirtualMemory;

use pool::Pool;

entries! {
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) = allocate;
    cuMemAllocPitch_v2(address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint) = allocate_pitch;
    cuMemFree_v2(address: CUdeviceptr) = free;
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) = get_info;
    cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr) = get_address_range;
}

/// Whose the allocations are. Variables of modules are not among them: a program cannot free those.
#[derive(Default)]
pub(super) struct Allocations(Mutex<BTreeMap<u64, Record>>);

/// An allocation of the program.
#[derive(Clone)]
pub(super) struct Record {
    /// Number of the context.
    pub(super) context: u64,
    /// The pool that it was taken from by `cuMemAllocAsync`, and what counts there.
    pub(super) pool: Option<Arc<Pool>>,
    /// Freed by `cuMemFreeAsync`, whose turn in its stream has not come.
    released: bool,
    /// Its number, as `cuPointerGetAttribute` tells it.
    pub(super) id: u64,
}

impl Allocations {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Enters a new allocation.
    fn add(&self, address: u64, record: Record) {
        lock(&self.0).insert(address, record);
    }

    /// Takes out the allocation that starts at `address`, unless it is released.
    fn take(&self, address: u64) -> Option<Record> {
        let mut records = lock(&self.0);
        records.get(&address).filter(|record| !record.released)?;
        records.remove(&address)
    }

    /// Marks the allocation that starts at `address` as released: no function takes it any more.
    fn mark_released(&self, address: u64) -> Outcome {
        let mut records = lock(&self.0);
        let record = records.get_mut(&address).filter(|record| !record.released).ok_or(INVALID_VALUE)?;
        record.released = true;
        Ok(())
    }

    /// What is known about the allocation that starts at `address`.
    pub(super) fn get(&self, address: u64) -> Option<Record> {
        lock(&self.0).get(&address).cloned()
    }

    /// Frees all that a context owns.
    pub(super) fn release(&self, context: u64, state: &State) {
        lock(&self.0).retain(|address, record| {
            if record.context == context {
                record.give_back(*address, state);
            }
            record.context != context
        });
    }
}

impl Record {
    /// Frees the allocation, which starts at `address` and is live: its record, which is gone, was the only way here.
    fn give_back(&self, address: u64, state: &State) {
        let bytes = state.memory.find(address).map_or(0, |allocation| allocation.len());
        if let Some(pool) = &self.pool {
            pool.give_back(bytes);
        }
        state.managed.forget(address);
        let _ = state.memory.free(address);
    }
}

impl State {
    /// Whether a range of device addresses is allocated, in one piece or in mappings side by side, and not freed.
    pub(super) fn is_device_range(&self, address: u64, bytes: u64) -> bool {
        let Some(allocation) = self.memory.find(address) else { return false };
        self.memory.contains(address, bytes)
            && self.allocations.get(allocation.base()).is_none_or(|record| !record.released)
    }

    /// Allocates for a context.
    pub(super) fn allocate(&self, context: &Context, bytes: usize) -> Outcome<u64> {
        let address = context.memory.allocate_for(bytes as u64, Reach::Peers).map_err(|_| OUT_OF_MEMORY)?;
        let record = Record { context: context.id, pool: None, released: false, id: self.id() };
        self.allocations.add(address, record);
        Ok(address)
    }
}

/// `CUDA_ERROR_OUT_OF_MEMORY`
const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

/// The report of an asynchronous copy or fill whose memory was freed before its turn came.
pub(super) fn fault(function: &str, error: &BadRange) -> Box<Fault> {
    Box::new(Fault {
        kind: FaultKind::IllegalAddress,
        kernel: function.to_owned(),
        block: [0; 3],
        thread: [0; 3],
        address: Some(error.address),
        ptx_line: 0,
        source: None,
        message: error.to_string(),
    })
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
    if let Some(block) = state.graph_memory.release(address) {
        state.synchronize();
        drop(block);
        return Ok(());
    }
    let Some(record) = state.allocations.take(address) else {
        // Memory of a context that is gone: driver 580 says so only where that context is current.
        let gone = call.context().err().filter(|code| *code == CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        return Err(gone.unwrap_or(INVALID_VALUE));
    };
    state.synchronize();
    record.give_back(address, state);
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
