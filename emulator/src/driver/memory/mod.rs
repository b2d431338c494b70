//! `cuMem*`: device memory, pinned host memory, copies, fills, pointer queries.

pub(super) mod copy;
pub(super) mod copy_batch;
pub(super) mod copy_rows;
pub(super) mod host;
pub(super) mod peer;
pub(super) mod pointer;
pub(super) mod pool;
pub(super) mod set;

use cuda_driver_sys::*;
use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::Mutex;

use super::context::Context;
use super::entry::{INVALID_VALUE, Out, Outcome, entries};
use super::state::{Call, State, lock};
use crate::engine::{Fault, FaultKind};
use crate::memory::{BadRange, Memory, Reach};
pub(super) use host::Pinned;

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
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// Number of the context.
    pub(super) context: u64,
    /// Made by `cuMemAllocAsync`.
    pub(super) pooled: bool,
    /// Freed by `cuMemFreeAsync`, whose turn in its stream has not come.
    released: bool,
    /// Its number, as `cuPointerGetAttribute` tells it.
    pub(super) id: u64,
}

impl Allocations {
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
        lock(&self.0).get(&address).copied()
    }

    /// Frees all that a context owns.
    pub(super) fn release(&self, context: u64, memory: &Memory) {
        lock(&self.0).retain(|address, record| {
            if record.context == context {
                // It is live: this table alone frees it.
                let _ = memory.free(*address);
            }
            record.context != context
        });
    }

    /// Bytes of pooled allocations.
    fn pooled(&self, memory: &Memory) -> u64 {
        let records = lock(&self.0);
        let pooled = records.iter().filter(|(_, record)| record.pooled);
        pooled.filter_map(|(address, _)| memory.find(*address)).map(|allocation| allocation.len()).sum()
    }
}

impl State {
    /// Whether a range of device addresses lies in one allocation that is not freed.
    pub(super) fn is_device_range(&self, address: u64, bytes: u64) -> bool {
        let Some(allocation) = self.memory.find(address) else { return false };
        bytes <= allocation.len() - (address - allocation.base())
            && self.allocations.get(allocation.base()).is_none_or(|record| !record.released)
    }

    /// Allocates for a context.
    pub(super) fn allocate(&self, context: &Context, bytes: usize, pooled: bool) -> Outcome<u64> {
        // Peer access concerns what is not of a pool; pools have an access list of their own.
        let reach = if pooled { Reach::Granted(0) } else { Reach::Peers };
        let address = context.memory.allocate_for(bytes as u64, reach);
        let address = address.map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let record = Record { context: context.id, pooled, released: false, id: self.id() };
        self.allocations.add(address, record);
        Ok(address)
    }
}

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
    place.set(call.state()?.allocate(&context, bytes, false)?);
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
    let row = width.checked_next_multiple_of(PITCH).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let bytes = row.checked_mul(height).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    address.set(call.state()?.allocate(&context, bytes, false)?);
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
    if state.allocations.take(address).is_none() {
        // Memory of a context that is gone: driver 580 says so only where that context is current.
        let gone = call.context().err().filter(|code| *code == CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        return Err(gone.unwrap_or(INVALID_VALUE));
    }
    state.synchronize();
    // It was live until here: its record was this call's alone.
    let _ = state.memory.free(address);
    Ok(())
}

fn get_info(call: &Call, free: Out<usize>, total: Out<usize>) -> Outcome {
    let memory = &call.context()?.memory;
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
