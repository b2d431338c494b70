//! Managed memory: one address for host and kernels. Where its pages are makes no difference here; what programs say
//! about them is remembered and told.
//!
//! Relies on the caller for the lengths of arrays and the types and sizes of attribute values: C1 and C3 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::allocations::{ALLOCATIONS, Record};
use super::location::Location;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Out, Outcome, Untyped, entries};
use crate::driver::exhausted::exhausted;
use crate::driver::since::Known;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, State, lock};
use crate::memory::{Allocation, Memory, OutOfMemory};

entries! {
    cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) = allocate;
    cuMemPrefetchAsync_v2(address: CUdeviceptr, bytes: usize, location: CUmemLocation, flags: c_uint, stream: CUstream) = prefetch;
    cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, location: CUmemLocation) = advise;
    cuMemPrefetchAsync_v1(address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream) = prefetch_to_device;
    cuMemAdvise_v1(address: CUdeviceptr, bytes: usize, advice: CUmem_advise, device: CUdevice) = advise_for_device;
    cuMemRangeGetAttribute(value: *mut c_void, size: usize, attribute: CUmem_range_attribute, address: CUdeviceptr, bytes: usize) = get_attribute;
    cuMemRangeGetAttributes(values: *mut *mut c_void, sizes: *mut usize, attributes: *mut CUmem_range_attribute, count: usize, address: CUdeviceptr, bytes: usize) = get_attributes;
    cuStreamAttachMemAsync(stream: CUstream, address: CUdeviceptr, bytes: usize, flags: c_uint) = attach;
}

/// What was said about managed memory: for each allocation, by its address, the parts that differ, in order.
pub(in crate::driver) struct Managed(Mutex<BTreeMap<u64, Vec<Part>>>);

pub(super) static MANAGED: PerSlot<Managed> = per_slot!(Managed(Mutex::new(BTreeMap::new())));

/// Managed memory that a reset made the driver forget, for as long as the instance is there.
static LEFT: PerSlot<Mutex<Vec<Arc<Allocation>>>> = per_slot!(Mutex::new(Vec::new()));

/// Keeps the bytes of all managed memory, which the driver is about to forget.
pub(super) fn keep(state: &State) {
    let addresses: Vec<u64> = lock(&MANAGED.0).keys().copied().collect();
    let found = addresses.into_iter().filter_map(|address| state.memory.find(address));
    lock(&LEFT).extend(found);
}

/// Gives them back.
pub(super) fn end_left() {
    lock(&LEFT).clear();
}

/// A part of an allocation, all of which was said the same about.
#[derive(Clone)]
struct Part {
    range: Range<u64>,
    said: Advice,
}

/// What was said about memory.
#[derive(Clone, PartialEq)]
pub(super) struct Advice {
    read_mostly: bool,
    preferred: Location,
    pub(super) prefetched: Location,
    accessed_by: Vec<c_int>,
}

impl Managed {
    /// All allocations are gone.
    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }

    /// The allocation that starts at `base` is gone.
    pub(super) fn forget(&self, base: u64) {
        lock(&self.0).remove(&base);
    }

    /// Changes what was said about a range, which lies in the allocation at `base`.
    pub(super) fn say(&self, (base, range): (u64, Range<u64>), change: impl Fn(&mut Advice)) {
        let mut all = lock(&self.0);
        let Some(parts) = all.get_mut(&base) else { return };
        let cut = |part: &Part| {
            let ends = [part.range.start, range.start, range.end, part.range.end];
            let inside = ends.map(|end| end.clamp(part.range.start, part.range.end));
            let pieces = inside.windows(2).filter_map(|ends| match ends {
                [start, end] if start < end => Some(Part { range: *start..*end, said: part.said.clone() }),
                _ => None,
            });
            pieces.collect::<Vec<_>>()
        };
        *parts = parts.iter().flat_map(cut).collect();
        for part in parts.iter_mut() {
            if part.range.start >= range.start && part.range.end <= range.end {
                change(&mut part.said);
            }
        }
        // Neighbours that are alike again are one.
        parts.dedup_by(|next, part| {
            let alike = next.said == part.said;
            if alike {
                part.range.end = next.range.end;
            }
            alike
        });
    }

    /// What was said about the parts of a range.
    fn said(&self, (base, range): (u64, Range<u64>)) -> Vec<Advice> {
        let all = lock(&self.0);
        let inside = |part: &&Part| part.range.start < range.end && part.range.end > range.start;
        let parts = all.get(&base).into_iter().flatten().filter(inside);
        parts.map(|part| part.said.clone()).collect()
    }
}

/// The allocation of managed memory that a range lies in, and the range.
pub(super) fn range(state: &State, address: u64, bytes: usize) -> Outcome<(u64, Range<u64>)> {
    let allocation = state.memory.find(address).filter(|allocation| allocation.is_managed());
    let allocation = allocation.ok_or(INVALID_VALUE)?;
    let end = address.checked_add(bytes as u64).filter(|_| bytes > 0).ok_or(INVALID_VALUE)?;
    if end > allocation.base() + allocation.len() {
        return Err(INVALID_VALUE);
    }
    Ok((allocation.base(), address..end))
}

fn allocate(call: &Call, address: Out<CUdeviceptr>, bytes: usize, flags: c_uint) -> Outcome {
    let context = call.context()?;
    call.unsafe_in_capture()?;
    let place = address.required()?;
    if bytes == 0 || !matches!(CUmemAttach_flags(flags), GLOBAL | HOST) {
        return Err(INVALID_VALUE);
    }
    let state = call.state()?;
    let address = allocate_at(&context.memory, Location::NONE, bytes as u64);
    let address = address.map_err(|_| exhausted(&context.memory, bytes as u64))?;
    let record = Record::new(context.id, state.id());
    ALLOCATIONS.add(address, record);
    place.set(address);
    Ok(())
}

/// Allocates managed memory that shall be there.
pub(in crate::driver) fn allocate_at(
    memory: &Memory,
    preferred: Location,
    bytes: u64,
) -> Result<u64, OutOfMemory> {
    let address = memory.allocate_managed(bytes)?;
    let said = Advice { read_mostly: false, preferred, prefetched: Location::NONE, accessed_by: Vec::new() };
    let whole = Part { range: address..address + bytes, said };
    lock(&MANAGED.0).insert(address, vec![whole]);
    Ok(address)
}

/// The allocation that starts there is gone, if it was managed memory.
pub(in crate::driver) fn forget(address: u64) {
    MANAGED.forget(address);
}

const GLOBAL: CUmemAttach_flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
const HOST: CUmemAttach_flags = CUmemAttach_flags::CU_MEM_ATTACH_HOST;
const SINGLE: CUmemAttach_flags = CUmemAttach_flags::CU_MEM_ATTACH_SINGLE;

/// The pages stay where they are; where they would be now is remembered when the stream gets there.
fn prefetch(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    flags: c_uint,
    stream: CUstream,
) -> Outcome {
    let stream = call.stream(stream)?;
    let state = call.state()?;
    let range = range(state, address, bytes)?;
    let mut location = Location::numbered(location).anywhere()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // So a driver numbers the host that it is asked for here.
    if location.kind == CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST {
        location.id = CU_DEVICE_CPU;
    }
    stream.give_apart_small(move || {
        MANAGED.say(range.clone(), |said| said.prefetched = location);
        Ok(())
    })
}

fn advise(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Outcome {
    use CUmem_advise as A;
    call.context()?;
    let state = call.state()?;
    let range = range(state, address, bytes)?;
    let said = &MANAGED;
    match advice {
        A::CU_MEM_ADVISE_SET_READ_MOSTLY => said.say(range, |said| said.read_mostly = true),
        A::CU_MEM_ADVISE_UNSET_READ_MOSTLY => said.say(range, |said| said.read_mostly = false),
        A::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => {
            let location = Location::of(location).anywhere()?;
            said.say(range, |said| said.preferred = location);
        }
        A::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => said.say(range, |said| said.preferred = Location::NONE),
        A::CU_MEM_ADVISE_SET_ACCESSED_BY | A::CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
            let number = Location::of(location).anywhere()?.number();
            let set = advice == A::CU_MEM_ADVISE_SET_ACCESSED_BY;
            said.say(range, |said| {
                said.accessed_by.retain(|other| *other != number);
                said.accessed_by.extend(set.then_some(number));
            });
        }
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

/// Before CUDA 12.2 a place was a device, or `CU_DEVICE_CPU`.
fn place_of(device: CUdevice) -> CUmemLocation {
    let type_ = match device {
        CU_DEVICE_CPU => CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
        _ => CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
    };
    CUmemLocation { type_, __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id: device } }
}

fn prefetch_to_device(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    device: CUdevice,
    stream: CUstream,
) -> Outcome {
    prefetch(call, address, bytes, place_of(device), 0, stream)
}

fn advise_for_device(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    device: CUdevice,
) -> Outcome {
    advise(call, address, bytes, advice, place_of(device))
}

/// The value that all parts have; `otherwise` if they differ.
fn common<T: PartialEq>(parts: &[Advice], otherwise: T, value: impl Fn(&Advice) -> T) -> T {
    let Some(first) = parts.first().map(&value) else { return otherwise };
    if parts.iter().all(|said| value(said) == first) { first } else { otherwise }
}

/// The numbers that an attribute has, `room` of them.
fn numbers(parts: &[Advice], attribute: CUmem_range_attribute, room: usize) -> Outcome<Vec<c_int>> {
    use CUmem_range_attribute as A;
    let preferred = common(parts, Location::NONE, |said| said.preferred);
    let prefetched = common(parts, Location::NONE, |said| said.prefetched);
    let number = match attribute.known()? {
        A::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => {
            let mut devices = common(parts, Vec::new(), |said| said.accessed_by.clone());
            devices.resize(room, CU_DEVICE_INVALID);
            return Ok(devices);
        }
        _ if room != 1 => return Err(INVALID_VALUE),
        A::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => c_int::from(common(parts, false, |said| said.read_mostly)),
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => preferred.number(),
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => prefetched.number(),
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => preferred.kind.0 as c_int,
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => preferred.id,
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => prefetched.kind.0 as c_int,
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => prefetched.id,
        _ => return Err(INVALID_VALUE),
    };
    Ok(vec![number])
}

fn get_attribute(
    call: &Call,
    value: Untyped,
    size: usize,
    attribute: CUmem_range_attribute,
    address: CUdeviceptr,
    bytes: usize,
) -> Outcome {
    let state = call.healthy()?;
    let place = value.required()?;
    let parts = MANAGED.said(range(state, address, bytes)?);
    if size == 0 || !size.is_multiple_of(size_of::<c_int>()) {
        return Err(INVALID_VALUE);
    }
    for (index, number) in numbers(&parts, attribute, size / size_of::<c_int>())?.into_iter().enumerate() {
        // SAFETY: 1: not null, as `required` looked; every attribute's value is one or more of an `int`, so by C3 that many as there are in `size`
        // bytes, and `numbers` gives no more.
        unsafe { place.write_at(index, number) };
    }
    Ok(())
}

fn get_attributes(
    call: &Call,
    values: In<*mut c_void>,
    sizes: In<usize>,
    attributes: In<CUmem_range_attribute>,
    count: usize,
    address: CUdeviceptr,
    bytes: usize,
) -> Outcome {
    if count == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let (values, sizes, attributes) =
        unsafe { (values.read_array(count)?, sizes.read_array(count)?, attributes.read_array(count)?) };
    for ((value, size), attribute) in values.into_iter().zip(sizes).zip(attributes) {
        // SAFETY: 1: a pointer in the caller's array, as C1, C3 and C4 say until the call returns, longer than `place` is used.
        let place = unsafe { <Untyped as FromC<*mut c_void>>::from_c(value) };
        get_attribute(call, place, size, attribute, address, bytes)?;
    }
    Ok(())
}

/// Every stream and the host reach all managed memory all the time: the device has concurrent access.
fn attach(call: &Call, stream: CUstream, address: CUdeviceptr, bytes: usize, flags: c_uint) -> Outcome {
    let state = call.healthy()?;
    let asked = CUmemAttach_flags(flags);
    // A driver takes the legacy stream by its own handle, and not by null (an H200 with driver 580 does the former).
    let single_of_null = asked == SINGLE && stream.is_null();
    let stream = call.stream(stream)?;
    let allocation = state.memory.find(address).filter(|allocation| allocation.is_managed());
    let whole = allocation.is_some_and(|allocation| {
        allocation.base() == address && (bytes == 0 || bytes as u64 == allocation.len())
    });
    if !whole || single_of_null || !matches!(asked, GLOBAL | HOST | SINGLE) {
        return Err(INVALID_VALUE);
    }
    stream.give_apart_small(|| Ok(()))
}
