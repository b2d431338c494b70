//! Pinned host memory: allocated here, or the program's own, registered. Asynchronous copies read and write it when their
//! turn comes, not at the call. Kernels reach it at its own address: with unified addressing every pinned range is mapped.
//!
//! Relies on the program, which registers what is its own (C5 in `entry`), and uses what it got here no more when it frees it.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Mutex;

use crate::driver::context::synchronize_all;
use crate::driver::entry::{INVALID_VALUE, Out, Outcome, entries};
use crate::driver::exhausted::exhausted_host;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, State, lock};
use crate::memory::{Block, Memory};

entries! {
    cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize) = allocate;
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) = allocate_with_flags;
    cuMemFreeHost(pointer: *mut c_void) = free;
    cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint) = register;
    cuMemHostUnregister(pointer: *mut c_void) = unregister;
    cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) = get_flags;
    cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, pointer: *mut c_void, flags: c_uint) = get_device_pointer;
}

/// The pinned ranges, by their first address.
pub(in crate::driver) struct Pinned(Mutex<BTreeMap<usize, Range>>);

pub(in crate::driver) static PINNED: PerSlot<Pinned> = per_slot!(Pinned(Mutex::new(BTreeMap::new())));

/// A pinned range.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Range {
    pub(super) bytes: usize,
    flags: c_uint,
    /// Number and handle of the context.
    context: u64,
    pub(super) owner: usize,
    pub(super) id: u64,
    /// Its bytes; `None` if it is registered, and the program's own. Who takes the entry out of [`PINNED`] gives them back or adds them to
    /// [`LEFT`]; nobody else does.
    block: Option<Block>,
}

/// `CU_MEMHOSTREGISTER_READ_ONLY`.
const READ_ONLY: c_uint = 8;
/// `CU_MEMHOSTALLOC_DEVICEMAP`: told for every range, as driver 580 does.
const DEVICEMAP: c_uint = 2;

impl Range {
    /// Whether devices only read it. Allocations do not have that flag.
    fn is_read_only(&self) -> bool {
        self.flags & READ_ONLY != 0
    }
}

impl Pinned {
    /// How many ranges there are.
    pub(in crate::driver) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// The range that contains `bytes` bytes at `address`, and where it starts.
    pub(super) fn find(&self, address: usize, bytes: usize) -> Option<(usize, Range)> {
        let ranges = lock(&self.0);
        let (first, range) = ranges.range(..=address).next_back()?;
        (bytes <= range.bytes.checked_sub(address - first)?).then_some((*first, *range))
    }

    /// Whether a byte of the range is pinned.
    fn overlaps(&self, address: usize, bytes: usize) -> bool {
        let ranges = lock(&self.0);
        let end = address.saturating_add(bytes);
        ranges
            .range(..end)
            .next_back()
            .is_some_and(|(first, range)| first.saturating_add(range.bytes) > address)
    }

    /// Takes out the range that starts at `address`, if it is of the wanted kind.
    fn take(&self, address: usize, allocated: bool) -> Option<Range> {
        let mut ranges = lock(&self.0);
        ranges.get(&address).filter(|range| range.block.is_some() == allocated)?;
        ranges.remove(&address)
    }

    /// Forgets what a context owned. The bytes of allocations stay: the program may still hold pointers to them.
    fn forget(&self, context: u64, memory: &Memory) {
        lock(&self.0).retain(|address, range| {
            if range.context == context {
                memory.leave(*address as u64);
                lock(&LEFT).extend(range.block);
            }
            range.context != context
        });
    }
}

/// Allocations of contexts that are gone, for as long as the instance is there.
static LEFT: PerSlot<Mutex<Vec<Block>>> = per_slot!(Mutex::new(Vec::new()));

/// Forgets all pinned memory. The bytes of allocations stay.
pub(super) fn clear(state: &State) {
    let ranges = std::mem::take(&mut *lock(&PINNED.0));
    for (address, range) in ranges {
        state.memory.leave(address as u64);
        lock(&LEFT).extend(range.block);
    }
}

/// Gives back the bytes of allocations that are forgotten: with its instance a program loses all that it had from it.
pub(super) fn end_left() {
    let left = std::mem::take(&mut *lock(&LEFT));
    for block in left {
        // SAFETY: 1: once, since the block went into `LEFT` when its entry was taken out of `PINNED`, and was now taken out of there. Nobody uses
        // it: `end_for_good` comes when the instance's work is done, its map left the range (`clear`, `forget`), and a program may use what an
        // instance gave it only as long as that exists.
        unsafe { block.give_back() };
    }
}

/// Gives back what a context owns of pinned memory.
pub(in crate::driver) fn forget(state: &State, context: u64) {
    PINNED.forget(context, &state.memory);
}

fn allocate(call: &Call, pointer: Out<*mut c_void>, bytes: usize) -> Outcome {
    allocate_with_flags(call, pointer, bytes, 0)
}

fn allocate_with_flags(call: &Call, pointer: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Outcome {
    let context = call.context()?;
    call.unsafe_in_capture()?;
    let place = pointer.required()?;
    if flags > 7 {
        return Err(INVALID_VALUE);
    }
    if bytes == 0 {
        place.set(std::ptr::null_mut());
        return Ok(());
    }
    let block = Block::pages(bytes as u64).ok_or_else(|| exhausted_host(bytes as u64))?;
    let memory = block.start().as_ptr();
    let state = call.state()?;
    let range = Range {
        bytes,
        flags,
        context: context.id,
        owner: context.handle,
        id: state.id(),
        block: Some(block),
    };
    // SAFETY: 1: it was just allocated, and is given back by `free`, after `take_out`, which waits for work when the range is out, or by
    // `end_left`, when all work of the instance is done.
    unsafe { enter(state, memory, range) };
    place.set(memory.cast());
    Ok(())
}

/// Makes a range pinned, and kernels reach it.
///
/// # Safety
///
/// 1. It is valid for reads, and unless it is registered as [`READ_ONLY`] for writes, until it is taken out and all work that was given to
///    the driver before is done.
unsafe fn enter(state: &State, start: *mut u8, range: Range) {
    if let Some(start) = NonNull::new(start) {
        // SAFETY: 1: the same memory and the same time: the caller's duty 1 is that of `enter_host`.
        unsafe { state.memory.enter_host(start, range.bytes as u64, !range.is_read_only()) };
    }
    // The program gives the address back as a plain number of C.
    lock(&PINNED.0).insert(start.expose_provenance(), range);
}

/// Waits for all work, which may use a range, and takes it out of what kernels reach. Those that other threads launched between the two
/// have found it still: they are waited for as well.
fn take_out(state: &State, address: usize) {
    synchronize_all();
    state.memory.leave(address as u64);
    synchronize_all();
}

/// Waits for all work, which may use the memory.
fn free(call: &Call, pointer: *mut c_void) -> Outcome {
    let state = call.healthy()?;
    call.unsafe_in_capture()?;
    if pointer.is_null() {
        return Ok(());
    }
    let range = PINNED.take(pointer.addr(), true).ok_or(INVALID_VALUE)?;
    take_out(state, pointer.addr());
    if let Some(block) = range.block {
        // SAFETY: 1: once, since `take` gives the entry to one call. All work is done that has found the range, and kernels given later do not;
        // copies that name it, and the program itself, do not use memory that it frees: C5.
        unsafe { block.give_back() };
    }
    Ok(())
}

fn register(call: &Call, pointer: *mut c_void, bytes: usize, flags: c_uint) -> Outcome {
    let context = call.context()?;
    if pointer.is_null() || bytes == 0 || flags > 0xf {
        return Err(INVALID_VALUE);
    }
    let state = call.state()?;
    if !is_mapped(pointer.addr(), bytes) {
        return Err(INVALID_VALUE);
    }
    if PINNED.find(pointer.addr(), 1).is_some_and(|(_, range)| range.block.is_some()) {
        // The driver's own allocation: so answered driver 580.
        return Err(INVALID_VALUE);
    }
    // Managed memory is at this address already, for kernels too.
    let is_managed =
        |address: usize| state.memory.find(address as u64).is_some_and(|there| there.is_managed());
    if is_managed(pointer.addr()) || is_managed(pointer.addr().saturating_add(bytes - 1)) {
        return Err(INVALID_VALUE);
    }
    if PINNED.overlaps(pointer.addr(), bytes) {
        return Err(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    let range =
        Range { bytes, flags, context: context.id, owner: context.handle, id: state.id(), block: None };
    // SAFETY: 1: by C1 and C5 the range, which is not null, is valid for reads, and without `READ_ONLY` for writes, until it is unregistered, where `take_out` waits for
    // work when the range is out, or its context is destroyed and work given before is done.
    unsafe { enter(state, pointer.cast(), range) };
    Ok(())
}

/// Whether the process has memory in each page of a range; where it cannot be asked, whether there are so many addresses.
fn is_mapped(address: usize, bytes: usize) -> bool {
    let Some(end) = address.checked_add(bytes) else { return false };
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    {
        // Of the C library, with the types that it has on Linux of 64 bits.
        unsafe extern "C" {
            fn msync(at: *mut c_void, len: usize, flags: std::ffi::c_int) -> std::ffi::c_int;
        }
        const MS_ASYNC: std::ffi::c_int = 1;
        // Pages have this size or a multiple of it.
        const PAGE: usize = 4096;
        let start = address & !(PAGE - 1);
        // SAFETY: with this flag the call looks whether the pages are there, and does nothing to them.
        let answer = unsafe { msync(std::ptr::without_provenance_mut(start), end - start, MS_ASYNC) };
        // Larger pages may begin before.
        answer == 0 || std::io::Error::last_os_error().kind() == std::io::ErrorKind::InvalidInput
    }
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
    {
        end > address
    }
}

fn unregister(call: &Call, pointer: *mut c_void) -> Outcome {
    let state = call.healthy()?;
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    if PINNED.take(pointer.addr(), false).is_none() {
        let inside = PINNED.find(pointer.addr(), 0).is_some_and(|(_, range)| range.bytes > 0);
        return Err(if inside { INVALID_VALUE } else { CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED });
    }
    take_out(state, pointer.addr());
    Ok(())
}

fn get_flags(call: &Call, flags: Out<c_uint>, pointer: *mut c_void) -> Outcome {
    let place = flags.required()?;
    call.healthy()?;
    let (_, range) = PINNED.find(pointer.addr(), 1).ok_or(INVALID_VALUE)?;
    place.set(range.flags | DEVICEMAP);
    Ok(())
}

/// The address that kernels use: the same.
fn get_device_pointer(
    call: &Call,
    address: Out<CUdeviceptr>,
    pointer: *mut c_void,
    flags: c_uint,
) -> Outcome {
    call.healthy()?;
    let place = address.required()?;
    if flags != 0 || PINNED.find(pointer.addr(), 1).is_none() {
        return Err(INVALID_VALUE);
    }
    place.set(pointer.addr() as u64);
    Ok(())
}
