//! Memory pools, and the allocation that is ordered in a stream. Memory is taken at the call and given back to the device
//! when the stream gets there: a pool keeps nothing, so that it always reserves what is in use.
//!
//! Relies on the caller for the lengths of arrays and the types of attribute values: C1 and C3 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use super::allocations::{ALLOCATIONS, Record};
use super::export::KIND;
use super::location::Location;
use super::managed;
use super::pool_sharing::Sharing;
use super::pools::{POOLS, Pool};
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, Untyped, entries};
use crate::driver::exhausted::exhausted;
use crate::driver::handles::to_c;
use crate::driver::since::Known;
use crate::driver::state::{Call, State, lock};
use crate::driver::stream::{Pace, Stream};
use crate::driver::work::Work;
use crate::driver::work::memory::{Alloc, Free, GRAPH_MEMORY};
use crate::memory::Reach;

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

fn allocate(call: &Call, address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    let pool = POOLS.current_of(stream.context.device)?;
    take(call, address, bytes, &stream, &pool)
}

fn allocate_from_pool(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Outcome {
    let pool = POOLS.get(pool)?;
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
    if stream.is_recording()? {
        if pool.sharing.is_shared() {
            // Graphs have memory of their own, which other processes cannot have.
            return Err(if pool.sharing.is_imported() { INVALID_VALUE } else { NOT_SUPPORTED });
        }
        let alloc = match pool.managed {
            Some(location) => Alloc::managed(call, location, bytes)?,
            None => Alloc::on(call, pool.device, bytes)?,
        };
        let address = alloc.address();
        stream.give(call, Work::Alloc(alloc), Pace::Queued)?;
        place.set(address);
        return Ok(());
    }
    call.unsafe_in_capture()?;
    let state = call.state()?;
    pool.take(bytes as u64)?;
    let memory = state.memory_of(pool.device)?;
    let allocated = match pool.managed {
        Some(location) => {
            let address = managed::allocate_at(memory, location, bytes as u64);
            address.map_err(|_| exhausted(memory, bytes as u64))
        }
        // Peer access does not concern pools: they have an access list of their own.
        None => {
            let reach = Reach::Granted(lock(&pool.inner).granted());
            pool.sharing.allocate(memory, bytes as u64, reach)
        }
    };
    let address = allocated.inspect_err(|_| pool.give_back(bytes as u64))?;
    let context = stream.context.id;
    ALLOCATIONS.add(address, Record::of_pool(context, state.id(), pool));
    place.set(address);
    Ok(())
}

fn free(call: &Call, address: CUdeviceptr, stream: CUstream) -> Outcome {
    let stream = call.stream(stream)?;
    if address == 0 {
        return Ok(());
    }
    let free = if stream.is_recording()? {
        Free::of_graph(address)?
    } else {
        call.unsafe_in_capture()?;
        released(call.state()?, address)?
    };
    stream.give(call, Work::Free(free), Pace::Small).map(|_| ())
}

/// From now on nobody can free it any more but the work that is the answer.
fn released(state: &State, address: u64) -> Outcome<Free> {
    if let Some(block) = GRAPH_MEMORY.release(address) {
        return Ok(Free::Block(block));
    }
    let is_managed = state.memory.find(address).is_some_and(|allocation| allocation.is_managed());
    let is_pooled = || ALLOCATIONS.get(address).is_some_and(|record| record.pool.is_some());
    if is_managed && !is_pooled() {
        return Err(INVALID_VALUE);
    }
    ALLOCATIONS.mark_released(address)?;
    Ok(Free::Allocation(address))
}

fn get_default(_: &Call, pool: Out<CUmemoryPool>, device: CUdevice) -> Outcome {
    let place = pool.required()?;
    place.set(to_c(POOLS.default_of(device)?.handle));
    Ok(())
}

fn get_current(_: &Call, pool: Out<CUmemoryPool>, device: CUdevice) -> Outcome {
    let place = pool.required()?;
    place.set(to_c(POOLS.current_of(device)?.handle));
    Ok(())
}

fn set_current(_: &Call, device: CUdevice, pool: CUmemoryPool) -> Outcome {
    let pools = &*POOLS;
    checked(device)?;
    pools.set_current(device, pools.get(pool)?)
}

/// What a location and a kind of memory name: pools of a device, or those of managed memory that is to be there.
enum Place {
    Device(CUdevice),
    Managed(Location),
}

fn place(location: CUmemLocation, kind: CUmemAllocationType) -> Outcome<Place> {
    match kind.known()? {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => {
            Location::of(location).device().map(Place::Device)
        }
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => {
            Location::of_managed(location).map(Place::Managed)
        }
        _ => Err(INVALID_VALUE),
    }
}

fn get_default_at(
    call: &Call,
    pool: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Outcome {
    match place(location.read()?, kind)? {
        Place::Device(device) => get_default(call, pool, device),
        Place::Managed(location) => {
            pool.required()?.set(to_c(POOLS.managed_default(location).handle));
            Ok(())
        }
    }
}

fn get_current_at(
    call: &Call,
    pool: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Outcome {
    match place(location.read()?, kind)? {
        Place::Device(device) => get_current(call, pool, device),
        Place::Managed(location) => {
            pool.required()?.set(to_c(POOLS.managed_current(location).handle));
            Ok(())
        }
    }
}

fn set_current_at(
    call: &Call,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Outcome {
    match place(location.read()?, kind)? {
        Place::Device(device) => set_current(call, device, pool),
        Place::Managed(location) => POOLS.set_managed_current(location, POOLS.get(pool)?),
    }
}

fn create(call: &Call, pool: Out<CUmemoryPool>, properties: In<CUmemPoolProps>) -> Outcome {
    let state = call.healthy()?;
    let (made, properties) = (pool.required()?, properties.read()?);
    let place = place(properties.location, properties.allocType)?;
    let sharing = match (properties.handleTypes.known()?, &place) {
        (CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE, _) => Sharing::None,
        (KIND, Place::Device(device)) if cfg!(target_os = "linux") => Sharing::new(state, *device)?,
        _ => return Err(NOT_SUPPORTED),
    };
    let pools = &*POOLS;
    let (handle, limit) = (pools.handles.reserve(), properties.maxSize as u64);
    let pool = match place {
        Place::Device(device) => Pool::with(handle, device, limit, sharing),
        Place::Managed(location) => Pool::of_managed(handle, location, limit),
    };
    pools.handles.insert(pool.handle, Arc::clone(&pool));
    made.set(to_c(pool.handle));
    Ok(())
}

/// Its allocations live on. A device that used it uses its default pool again.
fn destroy(call: &Call, pool: CUmemoryPool) -> Outcome {
    call.healthy()?;
    let pools = &*POOLS;
    let pool = pools.get(pool)?;
    let default = match pool.managed {
        Some(location) => pools.managed_default(location),
        None => pools.default_of(pool.device)?,
    };
    if Arc::ptr_eq(&pool, &default) {
        return Err(INVALID_VALUE);
    }
    if let Some(location) = pool.managed
        && Arc::ptr_eq(&pool, &pools.managed_current(location))
    {
        pools.set_managed_current(location, Arc::clone(&default))?;
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
    POOLS.get(pool).map(|_| ())
}

/// The types of the values are those of the API: `int` for the first three, `cuuint64_t` for the next five; the others are refused.
fn get_attribute(_: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = POOLS.get(pool)?;
    let value = value.required()?;
    let counts = lock(&pool.inner);
    let answer = match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => counts.threshold,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT | A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => counts.used,
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => counts.reserved_high,
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => counts.used_high,
        _ => {
            let reuse = reuse(attribute).and_then(|index| counts.reuse.get(index)).ok_or(INVALID_VALUE)?;
            // SAFETY: 1: not null, as `required` looked; `reuse` knows only the attributes that are an `int`, as its elements are.
            unsafe { value.write(*reuse) };
            return Ok(());
        }
    };
    // SAFETY: 1: not null, as `required` looked; others have returned, and the five attributes above are a `cuuint64_t`, as the counts are.
    unsafe { value.write(answer) };
    Ok(())
}

/// Which of the three reuse settings an attribute is.
fn reuse(attribute: CUmemPool_attribute) -> Option<usize> {
    (attribute.0 as usize).checked_sub(1).filter(|index| *index < 3)
}

fn set_attribute(_: &Call, pool: CUmemoryPool, attribute: CUmemPool_attribute, value: Untyped) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = POOLS.get(pool)?;
    let value = value.required()?;
    let mut counts = lock(&pool.inner);
    if let Some(setting) = reuse(attribute).and_then(|index| counts.reuse.get_mut(index)) {
        // SAFETY: 1: not null, as `required` looked; `reuse` knows only the attributes that are an `int`, as its elements are, set by C2.
        *setting = unsafe { value.read() };
        return Ok(());
    }
    // SAFETY: 1: not null, as `required` looked; called for the three attributes below alone, which are a `cuuint64_t`, set by C2.
    let number = || unsafe { value.read::<u64>() };
    match attribute {
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => counts.threshold = number(),
        // The highest use can only be reset: to what is in use now.
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH if number() == 0 => counts.reserved_high = counts.used,
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH if number() == 0 => counts.used_high = counts.used,
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

fn get_access(
    _: &Call,
    flags: Out<CUmemAccess_flags>,
    pool: CUmemoryPool,
    location: In<CUmemLocation>,
) -> Outcome {
    let pool = POOLS.get(pool)?;
    let place = flags.required()?;
    if pool.managed.is_some() {
        // Everyone reaches it.
        Location::of(location.read()?).anywhere()?;
        place.set(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        return Ok(());
    }
    let device = Location::of(location.read()?).device()?;
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
    let pool = POOLS.get(pool)?;
    if pool.managed.is_some() {
        return Err(NOT_SUPPORTED);
    }
    // SAFETY: 1: array and `count` are the caller's, so by C1 it is null or has `count` elements.
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
    // One that is being freed needs no access.
    ALLOCATIONS.of_pool(&pool, |address| drop(state.memory.grant(address, granted)));
    Ok(())
}
