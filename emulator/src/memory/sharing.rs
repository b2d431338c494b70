//! Device memory that other processes can map, too.

use std::sync::Arc;

use super::shared::{SharedBytes, SharedFile};
use super::shared_pool::{Part, SharedPool};
use super::{Memory, OutOfMemory, Reach};

/// Bytes of a file that become an allocation.
pub(super) struct Shared {
    /// Dropped before the part that they are.
    pub(super) bytes: SharedBytes,
    /// The part of a pool's file; `None` for a whole file, and for memory that another process has allocated.
    pub(super) part: Option<Part>,
    /// Whether the bytes count as used device memory here: those of another process count there.
    pub(super) counted: bool,
}

impl Memory {
    /// The file of the allocation that starts at `address`; `None` if there is none.
    pub fn file_of(&self, address: u64) -> Option<Arc<SharedFile>> {
        self.read_map().starting_at(address)?.file().cloned()
    }

    /// The offset in a pool's file of the allocation that starts at `address`.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.read_map().starting_at(address)?.offset()
    }

    /// Moves the bytes of the allocation that starts at `address` into a file, in which they remain. Work that has looked them up before
    /// would continue with the old bytes, so there must be none. False if there is no such allocation, or no room.
    pub fn move_to(&self, address: u64, file: &Arc<SharedFile>) -> bool {
        let before = self.find(address);
        let is_moved = self.write_map().move_to(address, file);
        before.iter().filter(|_| is_moved).for_each(|before| self.forget_accesses(before));
        is_moved
    }

    /// Allocates from a pool whose memory other processes can map.
    pub fn allocate_shared(
        &self,
        pool: &Arc<SharedPool>,
        bytes: u64,
        reach: Reach,
    ) -> Result<u64, OutOfMemory> {
        let free = self.capacity().saturating_sub(self.used());
        let refused = OutOfMemory { requested: bytes, free };
        let part = pool.take(bytes).filter(|_| bytes <= free).ok_or(refused)?;
        let mapped = SharedBytes::map(part.file(), part.offset(), bytes).ok_or(refused)?;
        let shared = Shared { bytes: mapped, part: Some(part), counted: true };
        self.write_map().enter_shared(shared, bytes, self.view.device, reach)
    }

    /// Maps `bytes` bytes of a file that another process has allocated, at a new address. The file is not kept.
    pub fn open(
        &self,
        file: &Arc<SharedFile>,
        offset: u64,
        bytes: u64,
        reach: Reach,
    ) -> Result<u64, OutOfMemory> {
        let refused = OutOfMemory { requested: bytes, free: self.capacity().saturating_sub(self.used()) };
        let mapped = SharedBytes::map(file, offset, bytes).ok_or(refused)?;
        let shared = Shared { bytes: mapped.without_file(), part: None, counted: false };
        self.write_map().enter_shared(shared, bytes, self.view.device, reach)
    }
}
