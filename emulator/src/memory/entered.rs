//! Memory that has its address from elsewhere: of the host, managed, mapped.
#![allow(unsafe_code)]
// Relies on callers to keep host memory valid, which is duty 1 of `enter_host`.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{Allocation, Memory, OutOfMemory, Physical, Rights};

impl Memory {
    /// Lets kernels access host memory at its own address until it is [removed](Self::leave): for reads, and if it is `writable`
    /// for writes.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads, and if `writable` for writes, until they are removed and all work (kernels, copies) that started
    ///    before is done.
    pub unsafe fn enter_host(&self, start: NonNull<u8>, bytes: u64, writable: bool) {
        // SAFETY: 1: the allocation is held by the map until it is removed, and after that by the snapshots and searches of work that
        // started before. The bytes are valid for that time by the caller's duty 1.
        let allocation = unsafe { Allocation::host_memory(start, bytes, writable) };
        self.write_map().enter(allocation);
    }

    /// Managed memory: `bytes` bytes that the host and kernels see at the address that is returned.
    pub fn allocate_managed(&self, bytes: u64) -> Result<u64, OutOfMemory> {
        let refused = OutOfMemory { requested: bytes, free: self.capacity().saturating_sub(self.used()) };
        // More memory than the device has may be requested, but not more than any machine has.
        let possible = Some(bytes).filter(|bytes| *bytes <= 1 << 46);
        let allocation =
            possible.and_then(|bytes| Allocation::managed(bytes, self.view.device)).ok_or(refused)?;
        let base = allocation.base();
        self.write_map().enter(allocation);
        Ok(base)
    }

    /// Memory of this device that has no address yet.
    pub fn create(&self, bytes: u64) -> Result<Arc<Physical>, OutOfMemory> {
        self.write_map().create(bytes, self.view.device).map(Arc::new)
    }

    /// The same, for several processes.
    #[cfg(target_os = "linux")]
    pub fn create_shared(&self, bytes: u64) -> Result<Arc<Physical>, OutOfMemory> {
        self.write_map().create_shared(bytes, self.view.device).map(Arc::new)
    }

    /// Lets kernels of some devices access the first `bytes` bytes of `physical` at `base`, until they are
    /// [removed](Self::leave).
    pub fn map(&self, base: u64, bytes: u64, physical: &Arc<Physical>, rights: Rights) {
        self.write_map().enter(Allocation::mapped(base, bytes, physical, rights));
    }

    /// Removes the memory that was entered at `base`. Kernels that hold a [`Snapshot`](super::Snapshot) still see it.
    pub fn leave(&self, base: u64) {
        // Dropped without the lock.
        let gone = self.write_map().leave(base);
        if let Some(gone) = gone {
            self.forget_accesses(&gone);
        }
    }
}
