//! Memory pools, and the allocation that is ordered in a stream. Memory is taken at the call and given back to the device
//! when the stream gets there: a pool keeps nothing, so that it always reserves what is in use.
//!
//! Relies on the caller for the types of attribute values.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use super::location::Location;
use super::{OUT_OF_MEMORY, Record, fault};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, Untyped, entries};
use crate::driver::graph::capture::record::recorder;
use crate::driver::graph::memory::{capture_alloc, capture_free};
use crate::driver::handles::{Handles, to_c};
use crate::driver::state::{Call, lock};
use crate::driver::stream::Stream;
use crate::memory::{ALIGNMENT, BadRange, Reach};

entries! {
    cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream) = allocate;
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream) = allocate_from_pool;
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) = free;
    cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) = get_default;
    cuDeviceGetMemPool(pool: *mut CUmemoryPool, device: CUdevice) = get_current;
    cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) = set_current;
    cuMemGetDefaultMemPool(pool: *mut CUmemoryPool, location: *mut CUmemLocation, kind: CUmemAllocationType) = get_default_at;
    cuMemGetMemPool(pool: *mut CUmemoryPool, location: *mut CUmemLocation, kind: CUmemAllocationType) = get_current_at;
    cuMemSetMemPool(location: *mut CUmemLocation, kind: CUmemAllocationType, pool: CUmemoryPool) = set_current_at;
    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps) = create;
    cuMemPoolDestroy(pool: CUmemoryPool) = destroy;
    cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) = trim;
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void) = get_attribute;
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void) = set_attribute;
    cuMemPoolGetAccess(flags: *mut CUmemAccess_flags, pool: CUmemoryPool, location: *mut CUmemLocation) = get_access;
    cuMemPoolSetAccess(pool: CUmemoryPool, descriptions: *const CUmemAccessDesc, count: usize) = set_access;
}

/// A pool. Allocations hold theirs: a pool that is destroyed counts on until the last one is freed.
pub(in crate::driver) struct Pool {
    pub(super) handle: usize,
    device: CUdevice,
    /// Most bytes that may be in use; 0 for no limit but the device's.
    limit: u64,
    inner: Mutex<Counts>,
}

/// What a pool counts, and settings that have no effect.
#[derive(Default)]
struct Counts {
    used: u64,
    used_high: u64,
    reserved_high: u64,
    threshold: u64,
    /// Which of the three ways of reuse are on.
    reuse: [c_int; 3],
    /// What other devices may do.
    access: Vec<(CUdevice, CUmemAccess_flags)>,
}

impl Counts {
    /// The devices that reach the allocations, one bit each.
    fn granted(&self) -> u32 {
        let reach = self.access.iter().filter(|(_, flags)| flags.0 != 0);
        reach.fold(0, |bits, (device, _)| bits | 1 << *device)
    }
}

impl Pool {
    fn new(handle: usize, device: CUdevice, limit: u64) -> Arc<Pool> {
        let counts = Counts { reuse: [1; 3], ..Counts::default() };
        Arc::new(Pool { handle, device, limit, inner: Mutex::new(counts) })
    }

    /// Counts an allocation, if there is room for it.
    fn take(&self, bytes: u64) -> Outcome {
        let mut counts = lock(&self.inner);
        let used = counts.used.saturating_add(bytes.next_multiple_of(ALIGNMENT));
        if self.limit != 0 && used > self.limit {
            return Err(OUT_OF_MEMORY);
        }
        counts.used = used;
        counts.used_high = counts.used_high.max(used);
        counts.reserved_high = counts.reserved_high.max(used);
        Ok(())
    }

    /// The opposite.
    pub(super) fn give_back(&self, bytes: u64) {
        let mut counts = lock(&self.inner);
        counts.used = counts.used.saturating_sub(bytes.next_multiple_of(ALIGNMENT));
    }
}

/// The pools, and which of them the devices use.
pub(in crate::driver) struct Pools {
    handles: Handles<Pool>,
    defaults: Vec<Arc<Pool>>,
    current: Mutex<Vec<Arc<Pool>>>,
}

impl Pools {
    /// How many pools there are.
    pub(in crate::driver) fn len(&self) -> usize {
        self.handles.len()
    }

    /// One pool for each device.
    pub(in crate::driver) fn new(devices: u32) -> Pools {
        let handles = Handles::new(8);
        let pool = |device| {
            let pool = Pool::new(handles.reserve(), device, 0);
            handles.insert(pool.handle, Arc::clone(&pool));
            pool
        };
        let defaults: Vec<_> = (0..devices as CUdevice).map(pool).collect();
        Pools { handles, current: Mutex::new(defaults.clone()), defaults }
    }

    fn get(&self, pool: CUmemoryPool) -> Outcome<Arc<Pool>> {
        self.handles.get(pool.addr()).ok_or(INVALID_VALUE)
    }

    fn default_of(&self, device: CUdevice) -> Outcome<Arc<Pool>> {
        checked(device)?;
        self.defaults.get(device as usize).cloned().ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    fn current_of(&self, device: CUdevice) -> Outcome<Arc<Pool>> {
        checked(device)?;
        lock(&self.current).get(device as usize).cloned().ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    fn set_current(&self, device: CUdevice, pool: Arc<Pool>) -> Outcome {
        checked(device)?;
        let mut current = lock(&self.current);
        let place = current.get_mut(device as usize).filter(|_| pool.device == device);
        *place.ok_or(INVALID_VALUE)? = pool;
        Ok(())
    }
}

fn allocate(call: &Call, address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    let pool = call.state()?.pools.current_of(stream.context.device)?;
    take(call, address, bytes, &stream, &pool)
}

fn allocate_from_pool(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Outcome {
    let pool = call.state()?.pools.get(pool)?;
    take(call, address, bytes, &call.stream(stream)?, &pool)
}

fn take(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: usize,
    stream: &Arc<Stream>,
    pool: &Arc<Pool>,
) -> Outcome {
    let place = address.required()?;
    if bytes == 0 {
        place.set(0);
        return Ok(());
    }
    if let Some(recorder) = recorder(stream)? {
        place.set(capture_alloc(call, &recorder, pool.device, bytes)?);
        return Ok(());
    }
    call.unsafe_in_capture()?;
    let state = call.state()?;
    pool.take(bytes as u64)?;
    // Peer access does not concern pools: they have an access list of their own.
    let reach = Reach::Granted(lock(&pool.inner).granted());
    let allocated = state.device(pool.device)?.memory.allocate_for(bytes as u64, reach);
    let address = allocated.map_err(|_| {
        pool.give_back(bytes as u64);
        OUT_OF_MEMORY
    })?;
    let context = stream.context.id;
    let record = Record { context, pool: Some(Arc::clone(pool)), released: false, id: state.id() };
    state.allocations.add(address, record);
    place.set(address);
    Ok(())
}

fn free(call: &Call, address: CUdeviceptr, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    if address == 0 {
        return Ok(());
    }
    if let Some(recorder) = recorder(&stream)? {
        return capture_free(call, &recorder, address);
    }
    call.unsafe_in_capture()?;
    let (state, name) = (call.state()?, call.name);
    if let Some(block) = state.graph_memory.release(address) {
        return stream.submit_small(move || {
            drop(block);
            Ok(())
        });
    }
    if state.memory.find(address).is_some_and(|allocation| allocation.is_managed()) {
        return Err(INVALID_VALUE);
    }
    state.allocations.mark_released(address)?;
    let give_back = move || {
        let record = lock(&state.allocations.0).remove(&address);
        let bytes = state.memory.find(address).map_or(0, |allocation| allocation.len());
        if let Some(pool) = record.and_then(|record| record.pool) {
            pool.give_back(bytes);
        }
        let free = state.memory.free(address);
        free.map_err(|error| fault(name, &BadRange { address, bytes: 0, description: error.description }))
    };
    stream.submit_small(give_back)
}

fn get_default(call: &Call, pool: Out<CUmemoryPool>, device: CUdevice) -> Outcome {
    let place = pool.required()?;
    place.set(to_c(call.state()?.pools.default_of(device)?.handle));
    Ok(())
}

fn get_current(call: &Call, pool: Out<CUmemoryPool>, device: CUdevice) -> Outcome {
    let place = pool.required()?;
    place.set(to_c(call.state()?.pools.current_of(device)?.handle));
    Ok(())
}

fn set_current(call: &Call, device: CUdevice, pool: CUmemoryPool) -> Outcome {
    let pools = &call.state()?.pools;
    checked(device)?;
    pools.set_current(device, pools.get(pool)?)
}

/// The device of a location, for memory of a kind that there are pools of.
fn device_at(location: &In<CUmemLocation>, kind: CUmemAllocationType) -> Outcome<CUdevice> {
    let location = Location::of(location.read()?);
    match kind {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => location.device(),
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

fn get_default_at(
    call: &Call,
    pool: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Outcome {
    get_default(call, pool, device_at(&location, kind)?)
}

fn get_current_at(
    call: &Call,
    pool: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Outcome {
    get_current(call, pool, device_at(&location, kind)?)
}

fn set_current_at(
    call: &Call,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Outcome {
    set_current(call, device_at(&location, kind)?, pool)
}

fn create(call: &Call, pool: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) -> Outcome {
    let state = call.healthy()?;
    let (place, properties) = (pool.required()?, properties.read()?);
    match properties.allocType {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => {}
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => return Err(NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    }
    let device = Location::of(properties.location).device()?;
    if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
        // No other process can open a handle.
        return Err(NOT_SUPPORTED);
    }
    let pools = &state.pools;
    let pool = Pool::new(pools.handles.reserve(), device, properties.maxSize as u64);
    pools.handles.insert(pool.handle, Arc::clone(&pool));
    place.set(to_c(pool.handle));
    Ok(())
}

/// Its allocations live on. A device that used it uses its default pool again.
fn destroy(call: &Call, pool: CUmemoryPool) -> Outcome {
    let pools = &call.healthy()?.pools;
    let pool = pools.get(pool)?;
    let default = pools.default_of(pool.device)?;
    if Arc::ptr_eq(&pool, &default) {
        return Err(INVALID_VALUE);
    }
    for current in lock(&pools.current).iter_mut().filter(|current| Arc::ptr_eq(current, &pool)) {
        *current = Arc::clone(&default);
    }
    pools.handles.remove(pool.handle);
    Ok(())
}

/// Nothing is kept.
fn trim(call: &Call, pool: CUmemoryPool, _keep: usize) -> Outcome {
    call.unsafe_in_capture()?;
    call.state()?.pools.get(pool).map(|_| ())
}

/// The types of the values are those of the API: `int` for the first three, `cuuint64_t` for the others.
fn get_attribute(call: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = call.state()?.pools.get(pool)?;
    let value = value.required()?;
    let counts = lock(&pool.inner);
    let answer = match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => counts.threshold,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT | A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => counts.used,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => counts.reserved_high,
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => counts.used_high,
        _ => {
            let reuse = reuse(attribute).and_then(|index| counts.reuse.get(index)).ok_or(INVALID_VALUE)?;
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

fn set_attribute(call: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = call.state()?.pools.get(pool)?;
    let value = value.required()?;
    let mut counts = lock(&pool.inner);
    if let Some(setting) = reuse(attribute).and_then(|index| counts.reuse.get_mut(index)) {
        // SAFETY: these attributes are an `int`.
        *setting = unsafe { value.read() };
        return Ok(());
    }
    // SAFETY: the other attributes are a `cuuint64_t`.
    let value: u64 = unsafe { value.read() };
    match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => counts.threshold = value,
        // The highest use can only be reset: to what is in use now.
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH if value == 0 => counts.reserved_high = counts.used,
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH if value == 0 => counts.used_high = counts.used,
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

fn get_access(
    call: &Call,
    flags: Out<CUmemAccess_flags>,
    pool: CUmemoryPool,
    location: In<CUmemLocation>,
) -> Outcome {
    let pool = call.state()?.pools.get(pool)?;
    let (place, device) = (flags.required()?, Location::of(location.read()?).device()?);
    let counts = lock(&pool.inner);
    let other = counts.access.iter().find(|(other, _)| *other == device).map(|(_, flags)| *flags);
    place.set(match other {
        _ if device == pool.device => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        Some(flags) => flags,
        None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
    });
    Ok(())
}

/// Concerns what is allocated already and what will be.
fn set_access(call: &Call, pool: CUmemoryPool, descriptions: In<CUmemAccessDesc>, count: usize) -> Outcome {
    let state = call.state()?;
    let pool = state.pools.get(pool)?;
    // SAFETY: the array has `count` elements.
    let descriptions = unsafe { descriptions.read_array(count)? };
    let mut asked = Vec::new();
    for description in descriptions {
        let device = Location::of(description.location).device()?;
        // A device always reaches its own pool.
        if device != pool.device {
            asked.push((device, description.flags));
        } else if description.flags != CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
            return Err(INVALID_VALUE);
        }
    }
    let granted = {
        let mut counts = lock(&pool.inner);
        counts.access.retain(|(device, _)| !asked.iter().any(|(other, _)| other == device));
        counts.access.extend(asked);
        counts.granted()
    };
    let records = lock(&state.allocations.0);
    let own = |record: &&Record| record.pool.as_ref().is_some_and(|other| Arc::ptr_eq(other, &pool));
    for (address, _) in records.iter().filter(|(_, record)| own(record)) {
        // One that is being freed needs no access.
        let _ = state.memory.grant(*address, granted);
    }
    Ok(())
}
