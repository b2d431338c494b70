//! Virtual memory management: addresses, memory and access rights, each on its own.
//!
//! Nothing here belongs to a context.

use cuda_driver_sys::*;
use std::collections::BTreeMap;
use std::ffi::{c_ulonglong, c_void};
use std::sync::{Arc, Mutex};

use super::location::Location;
use crate::driver::context::synchronize_all;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, OUT_OF_MEMORY, Out, Outcome, entries};
use crate::driver::exhausted::exhausted;
use crate::driver::handles::Numbers;
use crate::driver::ipc::handle::no_file;
use crate::driver::since::Known;
use crate::driver::slot::{self, PerSlot, per_slot};
use crate::driver::state::{Call, State, lock};
use crate::memory::{Physical, Rights};

entries! {
    cuMemAddressReserve(address: *mut CUdeviceptr, bytes: usize, alignment: usize, wanted: CUdeviceptr, flags: c_ulonglong) = reserve;
    cuMemAddressFree(address: CUdeviceptr, bytes: usize) = free;
    cuMemCreate(handle: *mut CUmemGenericAllocationHandle, bytes: usize, properties: *const CUmemAllocationProp, flags: c_ulonglong) = create;
    cuMemRelease(handle: CUmemGenericAllocationHandle) = release;
    cuMemMap(address: CUdeviceptr, bytes: usize, offset: usize, handle: CUmemGenericAllocationHandle, flags: c_ulonglong) = map;
    cuMemUnmap(address: CUdeviceptr, bytes: usize) = unmap;
    cuMemSetAccess(address: CUdeviceptr, bytes: usize, descriptions: *const CUmemAccessDesc, count: usize) = set_access;
    cuMemGetAccess(flags: *mut c_ulonglong, location: *const CUmemLocation, address: CUdeviceptr) = get_access;
    cuMemGetAllocationGranularity(bytes: *mut usize, properties: *const CUmemAllocationProp, option: CUmemAllocationGranularity_flags) = get_granularity;
    cuMemRetainAllocationHandle(handle: *mut CUmemGenericAllocationHandle, address: *mut c_void) = retain;
    cuMemGetAllocationPropertiesFromHandle(properties: *mut CUmemAllocationProp, handle: CUmemGenericAllocationHandle) = get_properties;
}

/// Where reserved addresses start: below those of other device memory.
pub(in crate::driver) const FIRST: u64 = 0x2000_0000_0000;
/// Where they end.
const END: u64 = 0x3000_0000_0000;
/// Memory is created and mapped in multiples of this, as on an H200.
const GRANULARITY: u64 = 2 << 20;
/// Addresses are reserved in multiples of this.
const PAGE: u64 = 4096;

/// Everything that programs reserved, created and mapped.
struct VirtualMemory(Mutex<Tables>);

static VIRTUAL_MEMORY: PerSlot<VirtualMemory> = per_slot!(VirtualMemory(Mutex::new(Tables::new())));

/// The handles of created memory.
static CREATED: PerSlot<Numbers> = per_slot!(Numbers::new(16));

/// Forgets everything.
pub(super) fn clear() {
    let tables = std::mem::replace(&mut *lock(&VIRTUAL_MEMORY.0), Tables::new());
    drop(tables);
}

struct Tables {
    /// Reserved ranges: length by first address.
    reserved: BTreeMap<u64, u64>,
    /// Created memory by handle.
    created: BTreeMap<u64, Created>,
    /// Mappings by first address.
    mapped: BTreeMap<u64, Mapping>,
}

/// Memory that was created.
struct Created {
    memory: Arc<Physical>,
    device: CUdevice,
    /// How often it has to be released.
    holders: u64,
}

/// Memory that is mapped somewhere.
struct Mapping {
    bytes: u64,
    memory: Arc<Physical>,
    device: CUdevice,
    handle: u64,
    /// Who may do what.
    access: Vec<(CUdevice, CUmemAccess_flags)>,
}

impl Tables {
    const fn new() -> Tables {
        Tables { reserved: BTreeMap::new(), created: BTreeMap::new(), mapped: BTreeMap::new() }
    }

    /// The reservation that a range lies in.
    fn is_reserved(&self, address: u64, bytes: u64) -> bool {
        let before = self.reserved.range(..=address).next_back();
        before.is_some_and(|(first, len)| address - first <= *len && bytes <= len - (address - first))
    }

    /// Whether a range meets one of the ranges in `taken`, which is a length by first address.
    fn is_free(&self, address: u64, bytes: u64) -> bool {
        let before = self.reserved.range(..address.saturating_add(bytes)).next_back();
        address >= FIRST && address <= END - bytes && before.is_none_or(|(first, len)| first + len <= address)
    }

    /// The first free range behind all others, or else in a hole.
    fn place(&self, bytes: u64, alignment: u64) -> Option<u64> {
        let ends = self.reserved.iter().rev().map(|(first, len)| first + len);
        // A gap, so that an overrun does not land in the neighbour.
        let starts = ends.map(|end| (end + GRANULARITY).next_multiple_of(alignment));
        let firsts = [FIRST + slot::share(END - FIRST), FIRST];
        let mut starts = starts.chain(firsts.map(|first| first.next_multiple_of(alignment)));
        starts.find(|start| self.is_free(*start, bytes))
    }

    /// The mappings that make up exactly this range.
    fn mappings(&self, address: u64, bytes: u64) -> Outcome<Vec<u64>> {
        let mut at = address;
        let end = address.checked_add(bytes).filter(|_| bytes > 0).ok_or(INVALID_VALUE)?;
        let mut found = Vec::new();
        while at < end {
            let mapping = self.mapped.get(&at).ok_or(INVALID_VALUE)?;
            found.push(at);
            at += mapping.bytes;
        }
        if at == end { Ok(found) } else { Err(INVALID_VALUE) }
    }

    /// The mapping that contains an address.
    fn mapping(&self, address: u64) -> Outcome<&Mapping> {
        let (first, mapping) = self.mapped.range(..=address).next_back().ok_or(INVALID_VALUE)?;
        if address - first < mapping.bytes { Ok(mapping) } else { Err(INVALID_VALUE) }
    }
}

fn reserve(
    call: &Call,
    address: Out<CUdeviceptr>,
    bytes: usize,
    alignment: usize,
    wanted: CUdeviceptr,
    flags: c_ulonglong,
) -> Outcome {
    call.healthy()?;
    let place = address.required()?;
    let (bytes, alignment) = (bytes as u64, alignment as u64);
    let multiple = bytes > 0 && bytes.is_multiple_of(PAGE);
    if flags != 0 || !multiple || alignment != 0 && !alignment.is_power_of_two() {
        return Err(INVALID_VALUE);
    }
    if bytes > END - FIRST || alignment > END - FIRST {
        return Err(OUT_OF_MEMORY);
    }
    let alignment = alignment.max(GRANULARITY);
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    // The address that is asked for is a hint.
    let hint =
        Some(wanted).filter(|wanted| wanted.is_multiple_of(alignment) && tables.is_free(*wanted, bytes));
    let found = hint.or_else(|| tables.place(bytes, alignment)).ok_or(OUT_OF_MEMORY)?;
    tables.reserved.insert(found, bytes);
    place.set(found);
    Ok(())
}

/// Gives a whole reservation back, in which nothing is mapped.
fn free(call: &Call, address: CUdeviceptr, bytes: usize) -> Outcome {
    call.healthy()?;
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    let whole = tables.reserved.get(&address) == Some(&(bytes as u64));
    if !whole || tables.mapped.range(address..address + bytes as u64).next().is_some() {
        return Err(INVALID_VALUE);
    }
    tables.reserved.remove(&address);
    Ok(())
}

/// The device of properties that can be had here, and whether other processes shall have the memory, too.
fn checked_properties(properties: &In<CUmemAllocationProp>) -> Outcome<(CUdevice, bool)> {
    let properties = properties.read()?;
    if properties.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(INVALID_VALUE);
    }
    let device = Location::of(properties.location).device()?;
    let shared = match properties.requestedHandleTypes.known()? {
        CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE => false,
        super::export::KIND if cfg!(target_os = "linux") => true,
        _ => return Err(NOT_SUPPORTED),
    };
    if properties.allocFlags.compressionType != 0 { Err(NOT_SUPPORTED) } else { Ok((device, shared)) }
}

fn create(
    call: &Call,
    handle: Out<CUmemGenericAllocationHandle>,
    bytes: usize,
    properties: In<CUmemAllocationProp>,
    flags: c_ulonglong,
) -> Outcome {
    let state = call.healthy()?;
    let place = handle.required()?;
    let ((device, shared), bytes) = (checked_properties(&properties)?, bytes as u64);
    if flags != 0 || bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
        return Err(INVALID_VALUE);
    }
    let of_device = state.memory_of(device)?;
    let memory = if shared { super::export::create(of_device, bytes) } else { of_device.create(bytes).ok() };
    let has_room = || bytes <= of_device.capacity().saturating_sub(of_device.used());
    let refused = || if shared && has_room() { no_file() } else { exhausted(of_device, bytes) };
    place.set(keep(memory.ok_or_else(refused)?, device));
    Ok(())
}

/// A new handle for memory of a device.
pub(super) fn keep(memory: Arc<Physical>, device: CUdevice) -> CUmemGenericAllocationHandle {
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    let new = CREATED.reserve() as u64;
    tables.created.insert(new, Created { memory, device, holders: 1 });
    new
}

/// The memory of a handle.
pub(super) fn memory_of(handle: CUmemGenericAllocationHandle) -> Outcome<Arc<Physical>> {
    let tables = lock(&VIRTUAL_MEMORY.0);
    tables.created.get(&handle).map(|created| Arc::clone(&created.memory)).ok_or(INVALID_VALUE)
}

/// Mappings keep the memory.
fn release(call: &Call, handle: CUmemGenericAllocationHandle) -> Outcome {
    call.healthy()?;
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    let created = tables.created.get_mut(&handle).ok_or(INVALID_VALUE)?;
    created.holders -= 1;
    if created.holders == 0 {
        tables.created.remove(&handle);
    }
    Ok(())
}

/// Nobody reaches it before access is set.
fn map(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> Outcome {
    call.healthy()?;
    let bytes = bytes as u64;
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    let created = tables.created.get(&handle).ok_or(INVALID_VALUE)?;
    let aligned = address.is_multiple_of(GRANULARITY) && bytes.is_multiple_of(GRANULARITY);
    // The offset is for later: today it is 0.
    if flags != 0 || offset != 0 || bytes == 0 || !aligned || bytes > created.memory.len() {
        return Err(INVALID_VALUE);
    }
    let before = tables.mapped.range(..address.saturating_add(bytes)).next_back();
    let free = before.is_none_or(|(first, mapping)| first + mapping.bytes <= address);
    if !free || !tables.is_reserved(address, bytes) {
        return Err(INVALID_VALUE);
    }
    let (memory, device) = (Arc::clone(&created.memory), created.device);
    tables.mapped.insert(address, Mapping { bytes, memory, device, handle, access: Vec::new() });
    Ok(())
}

/// Takes whole mappings out, after all work.
fn unmap(call: &Call, address: CUdeviceptr, bytes: usize) -> Outcome {
    let state = call.healthy()?;
    let mappings = lock(&VIRTUAL_MEMORY.0).mappings(address, bytes as u64)?;
    synchronize_all();
    for first in mappings {
        state.memory.leave(first);
        lock(&VIRTUAL_MEMORY.0).mapped.remove(&first);
    }
    Ok(())
}

fn set_access(
    call: &Call,
    address: CUdeviceptr,
    bytes: usize,
    descriptions: In<CUmemAccessDesc>,
    count: usize,
) -> Outcome {
    use CUmemAccess_flags as F;
    let state = call.healthy()?;
    if count == 0 {
        return Err(INVALID_VALUE);
    }
    #[allow(unsafe_code, reason = "the length of an array is the caller's word")]
    // SAFETY: 1: array and `count` are the caller's, so by C1 (in `entry`) it is null or has `count` elements.
    let descriptions = unsafe { descriptions.read_array(count)? };
    let mut asked = Vec::new();
    for description in descriptions {
        let device = Location::of(description.location).device()?;
        let known = [
            F::CU_MEM_ACCESS_FLAGS_PROT_NONE,
            F::CU_MEM_ACCESS_FLAGS_PROT_READ,
            F::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        ];
        if !known.contains(&description.flags) {
            return Err(INVALID_VALUE);
        }
        asked.push((device, description.flags));
    }
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    for first in tables.mappings(address, bytes as u64)? {
        if let Some(mapping) = tables.mapped.get_mut(&first) {
            for (device, flags) in &asked {
                mapping.access.retain(|(other, _)| other != device);
                mapping.access.push((*device, *flags));
            }
            enter(state, first, mapping);
        }
    }
    Ok(())
}

/// Lets kernels reach a mapping as its access says.
fn enter(state: &State, first: u64, mapping: &Mapping) {
    state.memory.leave(first);
    let with = |right: u32| {
        let devices = mapping.access.iter().filter(|(_, flags)| flags.0 & right != 0);
        devices.fold(0, |bits, (device, _)| bits | 1 << *device)
    };
    // The flags of the API: 1 to read, 2 to write.
    let rights = Rights { readers: with(1), writers: with(2) };
    if rights.readers != 0 {
        state.memory.map(first, mapping.bytes, &mapping.memory, rights);
    }
}

fn get_access(
    call: &Call,
    flags: Out<c_ulonglong>,
    location: In<CUmemLocation>,
    address: CUdeviceptr,
) -> Outcome {
    call.healthy()?;
    let (place, device) = (flags.required()?, Location::of(location.read()?).device()?);
    let tables = lock(&VIRTUAL_MEMORY.0);
    let access = &tables.mapping(address)?.access;
    let found = access.iter().find(|(other, _)| *other == device);
    place.set(found.map_or(0, |(_, flags)| flags.0.into()));
    Ok(())
}

fn get_granularity(
    call: &Call,
    bytes: Out<usize>,
    properties: In<CUmemAllocationProp>,
    option: CUmemAllocationGranularity_flags,
) -> Outcome {
    call.healthy()?;
    let place = bytes.required()?;
    checked_properties(&properties)?;
    if option.0 > 1 {
        return Err(INVALID_VALUE);
    }
    place.set(GRANULARITY as usize);
    Ok(())
}

/// The handle of the memory that is mapped at an address, once more.
fn retain(call: &Call, handle: Out<CUmemGenericAllocationHandle>, address: *mut c_void) -> Outcome {
    call.healthy()?;
    let place = handle.required()?;
    let mut tables = lock(&VIRTUAL_MEMORY.0);
    let mapping = tables.mapping(address.addr() as u64)?;
    let (known, memory, device) = (mapping.handle, Arc::clone(&mapping.memory), mapping.device);
    let created = tables.created.entry(known).or_insert(Created { memory, device, holders: 0 });
    created.holders += 1;
    place.set(known);
    Ok(())
}

fn get_properties(
    call: &Call,
    properties: Out<CUmemAllocationProp>,
    handle: CUmemGenericAllocationHandle,
) -> Outcome {
    call.healthy()?;
    let place = properties.required()?;
    let tables = lock(&VIRTUAL_MEMORY.0);
    let created = tables.created.get(&handle).ok_or(INVALID_VALUE)?;
    let kinds = if created.memory.is_shared() {
        super::export::KIND
    } else {
        CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE
    };
    place.set(CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: kinds,
        location: CUmemLocation {
            type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id: created.device },
        },
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: CUmemAllocationProp_allocFlags::default(),
    });
    Ok(())
}
