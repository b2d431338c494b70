//! The allocations that live at one moment, for lookups without a lock.

use std::sync::Arc;

use super::Allocation;

/// Allocations sorted by address. A running kernel uses a snapshot: it does not see later allocations, and keeps
/// those in the snapshot alive.
#[derive(Debug, Default)]
pub struct Snapshot {
    allocations: Box<[Arc<Allocation>]>,
    device: u32,
}

impl Snapshot {
    pub(super) fn new(allocations: Box<[Arc<Allocation>]>, device: u32) -> Snapshot {
        Snapshot { allocations, device }
    }

    /// Whether kernels that see it may write that allocation.
    pub fn may_write(&self, allocation: &Allocation) -> bool {
        allocation.is_writable(self.device)
    }

    /// The index of the allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let index = self.allocations.partition_point(|a| a.base() <= address).checked_sub(1)?;
        let allocation = &self.allocations[index];
        (address - allocation.base() < allocation.len()).then_some(index)
    }

    /// The allocation with that index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Allocation> {
        self.allocations.get(index).map(|allocation| &**allocation)
    }

    /// The number of allocations.
    pub fn len(&self) -> usize {
        self.allocations.len()
    }

    /// Whether nothing is allocated.
    pub fn is_empty(&self) -> bool {
        self.allocations.is_empty()
    }
}
