//! Device memory: allocations at invented addresses, backed by the host's heap. Devices share one address space.
//!
//! A device address is never a host address, so host code that dereferences one faults as with a real GPU. The exception is memory that
//! host and device share, which both access at the host's address. Addresses are not reused for a long time, and allocations are never
//! adjacent, so that an access past an allocation or into a freed one is detected and can be described.
//!
//! Everything here is locked inside: host threads, streams and running kernels use one [`Memory`] at a time. Bytes
//! are only ever used through [`access`], and changed by the atomic exchanges of kernels, because a copy on one stream may legally
//! overlap a kernel on another.

pub mod access;
mod allocation;
mod board;
mod bytes;
mod entered;
mod heap;
mod map;
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod pages;
pub mod passed;
mod range;
#[cfg_attr(not(target_os = "linux"), path = "shared_elsewhere.rs")]
mod shared;
mod shared_pool;
mod sharing;
mod snapshot;
mod written;

use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use allocation::{Allocation, Rights};
pub use board::Board;
pub use bytes::{Block, Physical};
pub use heap::{Caller, Heap, Leak};
pub use shared::SharedFile;
pub use shared_pool::SharedPool;
pub use snapshot::Snapshot;
pub use written::Written;

use crate::architecture::Architecture;
use crate::check::Checker;
use crate::profile::Profiler;
use crate::schedule::Scheduler;
use crate::texture::Objects;
use map::Map;

/// Alignment of every allocation, as `cuMemAlloc` guarantees it.
pub const ALIGNMENT: u64 = 256;

/// The memory of one device, in the address space that all devices share: it allocates from its own bytes, and finds,
/// reads and writes those of all.
#[derive(Clone, Debug)]
pub struct Memory {
    map: Arc<RwLock<Map>>,
    view: View,
    objects: Arc<Objects>,
    /// The heap of kernels.
    heap: Arc<Heap>,
    /// The buffers for the parameters of launches by kernels, while there may be some.
    buffers: Option<Arc<Heap>>,
    /// The checks for launches on it, and their findings.
    checker: Option<Arc<Checker>>,
    profiler: Option<Arc<Profiler>>,
    scheduler: Option<Arc<Scheduler>>,
    /// The architecture of the device.
    architecture: Architecture,
}

/// The device whose kernels access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct View {
    /// The device.
    device: u32,
    /// The devices that it has peer access to, one bit each.
    peers: u32,
}

/// Which other devices' kernels can access an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The devices with peer access.
    Peers,
    /// The devices whose bits are set, regardless of peer access.
    Granted(u32),
}

/// The device has no room for an allocation (`CUDA_ERROR_OUT_OF_MEMORY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The requested bytes.
    pub requested: u64,
    /// Bytes that were free.
    pub free: u64,
}

/// An address that is not the start of a live allocation (`CUDA_ERROR_INVALID_VALUE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnAllocation {
    /// The address passed to the call.
    pub address: u64,
    /// A description of that address.
    pub description: String,
}

/// A range that does not lie inside one live allocation (`CUDA_ERROR_INVALID_VALUE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRange {
    /// Start of the range.
    pub address: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// A description of that range.
    pub description: String,
}

impl Memory {
    /// Memory of `capacity` bytes of the only device, nothing allocated.
    pub fn new(capacity: u64) -> Memory {
        Memory::checked(capacity, None)
    }

    /// The same with checks for kernels.
    pub fn checked(capacity: u64, checker: Option<Arc<Checker>>) -> Memory {
        Memory::first(capacity, 1, 0, checker, None)
    }

    /// The memories of `count` devices, each of `capacity` bytes. `start` is the offset of the first allocation in the room of
    /// addresses.
    pub fn of_devices(
        capacity: u64,
        count: u32,
        start: impl Fn(u64) -> u64,
        checker: Option<Arc<Checker>>,
        profiler: Option<Arc<Profiler>>,
    ) -> Vec<Memory> {
        let first = Memory::first(capacity, count, start(map::ROOM), checker, profiler);
        (0..count).map(|device| Memory { view: View { device, peers: 0 }, ..first.clone() }).collect()
    }

    /// That of the first of `count` devices.
    fn first(
        capacity: u64,
        count: u32,
        start: u64,
        checker: Option<Arc<Checker>>,
        profiler: Option<Arc<Profiler>>,
    ) -> Memory {
        let tracked = checker.as_ref().is_some_and(|checker| checker.checks().uninitialised);
        Memory {
            map: Arc::new(RwLock::new(Map::new(capacity, count, start, tracked))),
            view: View { device: 0, peers: 0 },
            objects: Arc::default(),
            heap: Arc::default(),
            buffers: None,
            checker,
            profiler,
            scheduler: None,
            architecture: Architecture::default(),
        }
    }

    /// The same memory for kernels that can access allocations of the devices in `peers`, one bit each.
    pub fn with_peers(&self, peers: u32) -> Memory {
        Memory { view: View { peers, ..self.view }, ..self.clone() }
    }

    /// The same memory for kernels that allocate from that heap.
    pub fn with_heap(self, heap: Arc<Heap>) -> Memory {
        Memory { heap, ..self }
    }

    /// The heap of its kernels.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// `malloc` of a kernel; `None` if the heap has no room.
    pub(crate) fn allocate_in_heap(&self, bytes: u64, by: Caller) -> Option<u64> {
        let tracked = self.checker.as_ref().is_some_and(|checker| checker.checks().uninitialised);
        self.heap.allocate(bytes, self.view.device, tracked, by)
    }

    /// The same memory for kernels that launch kernels, with room for that many bytes of parameters.
    pub(crate) fn with_buffers(&self, bytes: u64) -> Memory {
        Memory { buffers: Some(Arc::new(Heap::for_buffers(bytes))), ..self.clone() }
    }

    /// A block for the parameters of a launch; `None` if there is no room.
    pub(crate) fn allocate_buffer(&self, bytes: u64, by: Caller) -> Option<u64> {
        let tracked = self.checker.as_ref().is_some_and(|checker| checker.checks().uninitialised);
        self.buffers.as_ref()?.allocate(bytes, self.view.device, tracked, by)
    }

    /// Gives the parameters of a launch back; false if none are at the address.
    pub(crate) fn free_buffer(&self, address: u64, by: Caller) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| buffers.free(address, by).is_ok())
    }

    /// The block of the heap, or of parameters of a launch, around an address.
    pub(crate) fn block(&self, address: u64) -> Option<heap::Found<'_>> {
        self.heap.find(address).or_else(|| self.buffers.as_ref()?.find(address))
    }

    /// The checks for launches on it; `None` if only faults are reported.
    pub fn checker(&self) -> Option<&Arc<Checker>> {
        self.checker.as_ref()
    }

    /// The same memory with a profiler for launches.
    pub fn with_profiler(self, profiler: Arc<Profiler>) -> Memory {
        Memory { profiler: Some(profiler), ..self }
    }

    /// The profiler of launches, if there is one.
    pub fn profiler(&self) -> Option<&Arc<Profiler>> {
        self.profiler.as_ref()
    }

    /// The same memory, whose launches run under several schedules.
    pub fn with_scheduler(self, scheduler: Arc<Scheduler>) -> Memory {
        Memory { scheduler: Some(scheduler), ..self }
    }

    /// The same memory, of a device of that architecture.
    pub fn with_architecture(self, architecture: Architecture) -> Memory {
        Memory { architecture, ..self }
    }

    /// The architecture of the device, whose code runs on it.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The scheduler of launches, if they run under several schedules.
    pub fn scheduler(&self) -> Option<&Arc<Scheduler>> {
        self.scheduler.as_ref()
    }

    /// The same memory for another run of a launch, with that checker and without a profiler.
    pub(crate) fn apart(&self, checker: Option<Arc<Checker>>) -> Memory {
        Memory { checker, profiler: None, scheduler: None, ..self.clone() }
    }

    /// The texture and surface objects, which refer to addresses of this memory.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Reserves `bytes` bytes and returns their device address, a multiple of [`ALIGNMENT`]. The contents are
    /// unspecified. An empty request takes one byte, so that its address is unique.
    pub fn allocate(&self, bytes: u64) -> Result<u64, OutOfMemory> {
        self.allocate_for(bytes, Reach::Peers)
    }

    /// [`allocate`](Self::allocate), saying who reaches it.
    pub fn allocate_for(&self, bytes: u64, reach: Reach) -> Result<u64, OutOfMemory> {
        self.write_map().allocate(bytes, self.view.device, reach)
    }

    /// [`allocate`](Self::allocate) at an address that the caller has chosen; false if it is already in use, there is no room,
    /// or it is not a multiple of [`ALIGNMENT`].
    pub fn allocate_at(&self, address: u64, bytes: u64) -> bool {
        self.write_map().allocate_at(address, bytes, self.view.device)
    }

    /// From now on the devices whose bits are set reach the allocation that starts at `address`, besides its own.
    pub fn grant(&self, address: u64, devices: u32) -> Result<(), NotAnAllocation> {
        self.write_map().grant(address, devices)
    }

    /// Gives back the allocation that starts at `address`. Kernels that hold a [`Snapshot`] keep its bytes alive.
    pub fn free(&self, address: u64) -> Result<(), NotAnAllocation> {
        let gone = self.write_map().free(address)?;
        self.forget_accesses(&gone);
        Ok(())
    }

    /// Nobody races with what was done to an allocation that is gone.
    fn forget_accesses(&self, gone: &Allocation) {
        if let Some(launches) = self.checker.as_ref().and_then(|checker| checker.launches()) {
            launches.forget(gone.host().addr() as u64, gone.len());
        }
    }

    /// Frees everything, although references to this memory may still exist.
    pub fn clear(&self) {
        let live = self.write_map().clear();
        drop(live);
    }

    /// The live allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<Arc<Allocation>> {
        self.read_map().find(address).cloned()
    }

    /// The device address of a byte that the host has at that address.
    pub fn device_address(&self, host: u64) -> Option<u64> {
        self.read_map().device_address(host)
    }

    /// The allocations that live now and that this device's kernels reach, for the kernel that starts now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.write_map().snapshot(self.view)
    }

    /// Bytes allocated on this device, each allocation rounded up to [`ALIGNMENT`].
    pub fn used(&self) -> u64 {
        self.read_map().used(self.view.device)
    }

    /// Bytes that can be allocated on this device in all.
    pub fn capacity(&self) -> u64 {
        self.read_map().capacity()
    }

    /// Describes where the `bytes` bytes at `address` are (inside, after or before an allocation, or in a freed one),
    /// for error messages.
    pub fn describe(&self, address: u64, bytes: u64) -> String {
        let heaps = [Some(&self.heap), self.buffers.as_ref()];
        if let Some(place) = heaps.into_iter().flatten().find_map(|heap| heap.describe(address, bytes)) {
            return place;
        }
        let map = self.read_map();
        let place = map.describe(address, bytes);
        let View { device, peers } = self.view;
        match map.find(address) {
            Some(allocation) if !allocation.is_reached(device, peers) => {
                format!("{place}, on device {}, which device {device} has no access to", allocation.device())
            }
            Some(allocation) if allocation.is_read_only() => {
                format!("{place}, which is registered for reading only")
            }
            Some(allocation) if !allocation.is_writable(device) => {
                format!("{place}, which is mapped for reading only")
            }
            _ => place,
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
