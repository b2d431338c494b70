//! `cuMemAllocAsync` and the one memory pool, the device's default one. Memory is taken at the call and given back when
//! the stream gets there.
//!
//! Relies on the caller for the types of attribute values.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use super::fault;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, Out, Outcome, Untyped, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::graph::memory::{capture_alloc, capture_free};
use crate::driver::handles::to_c;
use crate::driver::state::{Call, lock};
use crate::memory::BadRange;

entries! {
    cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream) = allocate;
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream) = allocate_from_pool;
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) = free;
    cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) = get_pool;
    cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice) = get_pool;
    cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) = set_pool;
    cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) = trim;
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void) = get_attribute;
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void) = set_attribute;
}

/// The handle of the pool.
pub(super) const POOL: usize = 0x0c0d_a008_0000_0040;

/// Settings of the pool; they have no effect.
struct Settings {
    reuse: [c_int; 3],
    threshold: u64,
    high: u64,
}

static SETTINGS: Mutex<Settings> = Mutex::new(Settings { reuse: [1; 3], threshold: 0, high: 0 });

fn allocate(call: &Call, address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    let place = address.required()?;
    if bytes == 0 {
        place.set(0);
        return Ok(());
    }
    if let Some(recorder) = recorder(&stream)? {
        place.set(capture_alloc(call, &recorder, stream.context.device, bytes)?);
        return Ok(());
    }
    let state = call.state()?;
    place.set(state.allocate(&stream.context, bytes, true)?);
    let mut settings = lock(&SETTINGS);
    settings.high = settings.high.max(state.allocations.pooled(&state.memory));
    Ok(())
}

fn known(pool: CUmemoryPool) -> Outcome {
    if pool.addr() == POOL { Ok(()) } else { Err(INVALID_VALUE) }
}

fn allocate_from_pool(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Outcome {
    known(pool)?;
    allocate(call, address, bytes, stream)
}

fn free(call: &Call, address: CUdeviceptr, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    if address == 0 {
        return Ok(());
    }
    if let Some(recorder) = recorder(&stream)? {
        return capture_free(call, &recorder, address);
    }
    let (state, name) = (call.state()?, call.name);
    if let Some(block) = state.graph_memory.release(address) {
        return stream.submit_small(move || {
            drop(block);
            Ok(())
        });
    }
    state.allocations.mark_released(address)?;
    let give_back = move || {
        lock(&state.allocations.0).remove(&address);
        let free = state.memory.free(address);
        free.map_err(|error| fault(name, &BadRange { address, bytes: 0, description: error.description }))
    };
    stream.submit_small(give_back)
}

fn get_pool(_: &Call, pool: Out<CUmemoryPool>, device: CUdevice) -> Outcome {
    let place = pool.required()?;
    checked(device)?;
    place.set(to_c(POOL));
    Ok(())
}

fn set_pool(_: &Call, device: CUdevice, pool: CUmemoryPool) -> Outcome {
    checked(device)?;
    known(pool)
}

/// Nothing is kept.
fn trim(_: &Call, pool: CUmemoryPool, _keep: usize) -> Outcome {
    known(pool)
}

/// The types of the values are those of the API: `int` for the first three, `cuuint64_t` for the others.
fn get_attribute(call: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    known(pool)?;
    let value = value.required()?;
    let state = call.state()?;
    let settings = lock(&SETTINGS);
    let answer = match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => settings.threshold,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT | A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => {
            state.allocations.pooled(&state.memory)
        }
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH | A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => settings.high,
        _ => {
            let reuse = reuse(attribute).and_then(|index| settings.reuse.get(index)).ok_or(INVALID_VALUE)?;
            // SAFETY: these attributes are an `int`.
            unsafe { value.write(*reuse) };
            return Ok(());
        }
    };
    // SAFETY: these attributes are a `cuuint64_t`.
    unsafe { value.write(answer) };
    Ok(())
}

/// Which of the three reuse settings an attribute is.
fn reuse(attribute: CUmemPool_attribute) -> Option<usize> {
    (attribute.0 as usize).checked_sub(1).filter(|index| *index < 3)
}

fn set_attribute(_: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    known(pool)?;
    let value = value.required()?;
    let mut settings = lock(&SETTINGS);
    if let Some(setting) = reuse(attribute).and_then(|index| settings.reuse.get_mut(index)) {
        // SAFETY: these attributes are an `int`.
        *setting = unsafe { value.read() };
        return Ok(());
    }
    // SAFETY: the other attributes are a `cuuint64_t`.
    let value: u64 = unsafe { value.read() };
    match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => settings.threshold = value,
        // The highest use can only be reset.
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH | A::CU_MEMPOOL_ATTR_USED_MEM_HIGH if value == 0 => {
            settings.high = 0
        }
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}
