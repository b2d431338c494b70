//! Device memory: allocations at invented addresses, backed by the host's heap.
//!
//! A device address is never a host address, so host code that dereferences one faults as it does with a real GPU.
//! Addresses are not reused for a long while and neighbours never touch, so that an access behind an allocation or
//! into a freed one is seen and can be described.
//!
//! Everything here is locked inside: host threads, streams and running kernels use one [`Memory`] at a time. Bytes
//! are only ever touched through relaxed atomics ([`access`]), because a copy on one stream may legally overlap a
//! kernel on another.

pub mod access;
mod allocation;
mod map;
mod snapshot;

use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use allocation::Allocation;
pub use snapshot::Snapshot;

use crate::texture::Objects;
use map::Map;

/// Alignment of every allocation, as `cuMemAlloc` guarantees it.
pub const ALIGNMENT: u64 = 256;

/// The memory of one device.
#[derive(Debug)]
pub struct Memory {
    map: RwLock<Map>,
    objects: Objects,
}

/// The device has no room for an allocation (`CUDA_ERROR_OUT_OF_MEMORY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes that were free.
    pub free: u64,
}

/// An address that is not the start of a live allocation (`CUDA_ERROR_INVALID_VALUE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnAllocation {
    /// The address that was to be freed.
    pub address: u64,
    /// What is known about that address.
    pub description: String,
}

/// A range that does not lie inside one live allocation (`CUDA_ERROR_INVALID_VALUE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRange {
    /// Start of the range.
    pub address: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// What is known about that range.
    pub description: String,
}

impl Memory {
    /// Memory of `capacity` bytes, nothing allocated.
    pub fn new(capacity: u64) -> Memory {
        Memory { map: RwLock::new(Map::new(capacity)), objects: Objects::default() }
    }

    /// What handles of textures and surfaces mean: they name addresses of this memory.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Reserves `bytes` bytes and returns their device address, a multiple of [`ALIGNMENT`]. The contents are
    /// unspecified. An empty request takes one byte, so that its address is its own.
    pub fn allocate(&self, bytes: u64) -> Result<u64, OutOfMemory> {
        self.write_map().allocate(bytes)
    }

    /// Gives back the allocation that starts at `address`. Kernels that hold a [`Snapshot`] keep its bytes alive.
    pub fn free(&self, address: u64) -> Result<(), NotAnAllocation> {
        self.write_map().free(address)
    }

    /// The live allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        self.read_map().find(address).cloned()
    }

    /// The allocations that live now, for the kernel that starts now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.write_map().snapshot()
    }

    /// Bytes allocated, each allocation rounded up to [`ALIGNMENT`].
    pub fn used(&self) -> u64 {
        self.read_map().used()
    }

    /// Bytes that can be allocated in all.
    pub fn capacity(&self) -> u64 {
        self.read_map().capacity()
    }

    /// Says in words where the `bytes` bytes at `address` lie: inside, behind or before which allocation, or in
    /// one that was freed. For error messages.
    pub fn describe(&self, address: u64, bytes: u64) -> String {
        self.read_map().describe(address, bytes)
    }

    /// Copies from device memory to `target`.
    pub fn read(&self, address: u64, target: &mut [u8]) -> Result<(), BadRange> {
        let (allocation, offset) = self.range(address, target.len() as u64)?;
        allocation.read(offset, target);
        Ok(())
    }

    /// Copies `source` to device memory.
    pub fn write(&self, address: u64, source: &[u8]) -> Result<(), BadRange> {
        let (allocation, offset) = self.range(address, source.len() as u64)?;
        allocation.write(offset, source);
        Ok(())
    }

    /// Writes `pattern` `count` times in a row.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), BadRange> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        let (allocation, offset) = self.range(address, bytes)?;
        allocation.fill(offset, pattern, bytes);
        Ok(())
    }

    /// Copies inside device memory. Overlapping ranges give what a copy through a buffer gives.
    pub fn copy(&self, target: u64, source: u64, bytes: u64) -> Result<(), BadRange> {
        let (from, from_offset) = self.range(source, bytes)?;
        let (to, to_offset) = self.range(target, bytes)?;
        Allocation::copy(&to, to_offset, &from, from_offset, bytes);
        Ok(())
    }

    /// The allocation that contains the whole range, and the offset in it.
    fn range(&self, address: u64, bytes: u64) -> Result<(Arc<Allocation>, u64), BadRange> {
        let map = self.read_map();
        match map.find(address) {
            Some(allocation) if bytes <= allocation.len() - (address - allocation.base()) => {
                Ok((Arc::clone(allocation), address - allocation.base()))
            }
            _ => Err(BadRange { address, bytes, description: map.describe(address, bytes) }),
        }
    }

    // A panic while the lock is held cannot leave the map half changed: every change is one insertion or removal.
    fn read_map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write_map(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of device memory: {} bytes asked for, {} free", self.requested, self.free)
    }
}

impl fmt::Display for NotAnAllocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x} is not the start of an allocation: {}", self.address, self.description)
    }
}

impl fmt::Display for BadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at 0x{:x}: {}", self.bytes, self.address, self.description)
    }
}

impl std::error::Error for OutOfMemory {}
impl std::error::Error for NotAnAllocation {}
impl std::error::Error for BadRange {}
