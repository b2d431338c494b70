//! The ends of copies: device memory, and host memory of two kinds.
//!
//! Relies on the program for host ranges that it passes (C1, C4 and C5 in `entry`): they are valid, and no other code writes a source
//! or accesses a target, during the call, and for pinned ones until their copy is done.
#![allow(unsafe_code)]

use cuda_driver_sys::{CUdeviceptr, CUmemorytype};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::memory::virtual_memory::FIRST;
use crate::driver::state::State;
use crate::memory::{BadRange, Memory, access};

/// One end of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum End {
    Device(u64),
    /// Memory that only this call may touch.
    Pageable(Host),
    /// Memory that the copy accesses when it runs: pinned or managed.
    Pinned(Host),
}

/// A host address, not null: the first byte of a range that the program named, or a byte in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Host(*mut u8);

// SAFETY: an address alone is harmless; it is only dereferenced in unsafe functions that require valid bytes. Memory is valid on every
// thread, for the duration in C5: pageable memory during the call, in which its copies are done or the bytes are copied
// (`Stream::give_now`, if work `is_of_the_call`).
unsafe impl Send for Host {}
// SAFETY: the address is never changed, so a shared reference only gives copies, which may be sent to other threads, as for
// `Send`.
unsafe impl Sync for Host {}

/// The range of device addresses: an address in it that is not allocated is a mistake, not a host address.
const DEVICE_WINDOW: std::ops::Range<u64> = FIRST..0x5000_0000_0000;
/// Bytes copied at a time by a copy through a buffer.
pub(in crate::driver) const CHUNK: usize = 64 << 10;

impl End {
    /// The same memory from `offset` bytes on.
    pub(in crate::driver) fn further(self, offset: usize) -> End {
        match self {
            End::Device(address) => End::Device(address.wrapping_add(offset as u64)),
            End::Pageable(host) => End::Pageable(Host(host.0.wrapping_add(offset))),
            End::Pinned(host) => End::Pinned(Host(host.0.wrapping_add(offset))),
        }
    }

    /// The same memory for a copy that is kept: host memory of any kind is accessed when the copy runs.
    pub(super) fn into_node(self) -> End {
        match self {
            End::Pageable(host) => End::Pinned(host),
            end => end,
        }
    }

    /// Classifies an address, and checks the range as far as possible.
    pub(in crate::driver) fn of(state: &State, pointer: *mut u8, bytes: usize) -> Outcome<End> {
        let address = pointer.addr();
        let known = state.memory.find(address as u64);
        let on_host = known.as_ref().is_some_and(|allocation| allocation.is_on_host());
        if !on_host && (DEVICE_WINDOW.contains(&(address as u64)) || known.is_some()) {
            return End::device(state, address as u64, bytes);
        }
        match known {
            _ if pointer.is_null() => Err(INVALID_VALUE),
            Some(_) if state.memory.contains(address as u64, bytes as u64) => Ok(End::Pinned(Host(pointer))),
            _ => Ok(End::Pageable(Host(pointer))),
        }
    }

    /// A device range.
    pub(in crate::driver) fn device(state: &State, address: u64, bytes: usize) -> Outcome<End> {
        if state.is_device_range(address, bytes as u64) {
            Ok(End::Device(address))
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// The number of the address.
    pub(super) fn address(self) -> u64 {
        match self {
            End::Device(address) => address,
            End::Pageable(host) | End::Pinned(host) => host.0.addr() as u64,
        }
    }

    /// The address in the form of the API: memory type, host pointer, number.
    pub(super) fn told(self) -> (CUmemorytype, *mut c_void, u64) {
        match self {
            End::Device(address) => {
                let host = std::ptr::without_provenance_mut(address as usize);
                (CUmemorytype::CU_MEMORYTYPE_DEVICE, host, address)
            }
            End::Pageable(host) | End::Pinned(host) => {
                (CUmemorytype::CU_MEMORYTYPE_HOST, host.0.cast(), host.0.expose_provenance() as u64)
            }
        }
    }

    /// A copy of the bytes of pageable memory; `None` for other memory.
    ///
    /// # Safety
    ///
    /// 1. A host end is valid for reads of `bytes` bytes, in one allocation, and they are not written meanwhile.
    pub(super) unsafe fn read(self, bytes: usize) -> Option<Arc<[MaybeUninit<u8>]>> {
        match self {
            // SAFETY: not null (`Host`), valid for reads of that many bytes of one allocation, so at most `isize::MAX`, and not written
            // while the slice exists: duty 1. Bytes need no alignment, and `MaybeUninit` need not be initialised: a part may be padding.
            End::Pageable(host) => Some(unsafe { std::slice::from_raw_parts(host.0.cast(), bytes) }.into()),
            End::Device(_) | End::Pinned(_) => None,
        }
    }

    /// A generic address as the API passes it.
    pub(in crate::driver) fn generic(state: &State, address: CUdeviceptr, bytes: usize) -> Outcome<End> {
        let address = usize::try_from(address).map_err(|_| INVALID_VALUE)?;
        End::of(state, std::ptr::with_exposed_provenance_mut(address), bytes)
    }
}

/// Copies now.
///
/// # Safety
///
/// 1. A host end is valid for `bytes` bytes in one allocation: the target for writes, the source for reads.
/// 2. Meanwhile no other code writes a host source or accesses a host target, except for other parts of the emulator in pinned
///    memory, as the head of [`access`] says. A pageable end is not part of a device end.
pub(in crate::driver) unsafe fn transfer(
    memory: &Memory,
    target: End,
    source: End,
    bytes: usize,
) -> Result<(), BadRange> {
    // SAFETY: a host range is an end with `bytes` bytes of one allocation, duty 1, not null (`Host`); `at` stays
    // inside it (`chunks`); bytes need no alignment. Slices (of `MaybeUninit`, at most `isize::MAX`) and `copy_from`
    // (ends may overlap) are used only for pageable ends, which are not part of a device end; no other code writes
    // such a source or accesses such a target: duty 2. Everything else goes through `access`, whose head says how
    // others use the memory meanwhile: duty 2.
    unsafe {
        match (target, source) {
            (End::Device(target), End::Device(source)) => memory.copy(target, source, bytes as u64),
            (End::Device(target), End::Pageable(host)) => {
                memory.copy_from_host(target, std::slice::from_raw_parts(host.0.cast(), bytes))
            }
            (End::Pageable(host), End::Device(source)) => {
                memory.copy_to_host(source, std::slice::from_raw_parts_mut(host.0.cast(), bytes))
            }
            // A kernel may touch pinned memory at the same time, as the head of `access` says: that is a mistake of the program, but not
            // undefined behaviour here.
            (End::Device(target), End::Pinned(host)) => chunks(bytes, false, |at, buffer| {
                access::read(host.0.add(at), buffer);
                memory.copy_from_host(target + at as u64, buffer)
            }),
            (End::Pinned(host), End::Device(source)) => chunks(bytes, false, |at, buffer| {
                memory.copy_to_host(source + at as u64, buffer)?;
                access::write(host.0.add(at), buffer);
                Ok(())
            }),
            (End::Pageable(target), End::Pageable(source)) => {
                target.0.copy_from(source.0, bytes);
                Ok(())
            }
            // If the two overlap, no chunk is overwritten before it is read.
            (End::Pageable(target) | End::Pinned(target), End::Pageable(source) | End::Pinned(source)) => {
                chunks(bytes, target.0 > source.0, |at, buffer| {
                    access::read(source.0.add(at), buffer);
                    access::write(target.0.add(at), buffer);
                    Ok(())
                })
            }
        }
    }
}

/// Calls `copy` with the offset of each chunk and a buffer of its size, which are at most `bytes` together; the last chunk first if it goes
/// backwards.
fn chunks(
    bytes: usize,
    backwards: bool,
    mut copy: impl FnMut(usize, &mut [MaybeUninit<u8>]) -> Result<(), BadRange>,
) -> Result<(), BadRange> {
    let mut buffer = vec![MaybeUninit::uninit(); bytes.min(CHUNK)];
    let count = bytes.div_ceil(CHUNK);
    (0..count).try_for_each(|index| {
        let at = CHUNK * if backwards { count - 1 - index } else { index };
        let part = buffer.len().min(bytes - at);
        copy(at, buffer.get_mut(..part).unwrap_or_default())
    })
}
