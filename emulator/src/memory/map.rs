//! The allocated and freed addresses, and descriptions of all others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bytes::Physical;
use super::shared::SharedFile;
use super::sharing::Shared;
use super::{ALIGNMENT, Allocation, NotAnAllocation, OutOfMemory, Reach, Snapshot, View};

/// The first address: far from any host heap, and far below the windows of the other state spaces.
const FIRST: u64 = 0x3000_0000_0000;
/// The end of addresses; after it, allocation starts again from [`FIRST`], in holes.
const END: u64 = 0x5000_0000_0000;
/// Room for addresses.
pub(super) const ROOM: u64 = END - FIRST;
/// Unused bytes after every allocation, so that an overrun does not reach the next one.
const GAP: u64 = 1 << 20;
/// Freed ranges remembered for reports.
const REMEMBERED: usize = 4096;

/// The address map of all devices: no two have the same address.
#[derive(Debug)]
pub(super) struct Map {
    /// The memory of each device, in bytes.
    capacity: u64,
    /// Bytes in use on each device; shared with memory that has no address.
    used: Vec<Arc<AtomicU64>>,
    next: u64,
    live: BTreeMap<u64, Arc<Allocation>>,
    /// Freed ranges by base: length.
    freed: BTreeMap<u64, u64>,
    /// Bases in `freed`, oldest first.
    freed_order: VecDeque<u64>,
    /// The snapshots created since the last change.
    snapshots: Vec<(View, Arc<Snapshot>)>,
    /// Whether allocations track which of their bytes were written.
    tracked: bool,
}

impl Map {
    /// `start` is the offset of the first allocation in the [`ROOM`], or slightly less: addresses are multiples of [`GAP`], and so of
    /// [`ALIGNMENT`].
    pub(super) fn new(capacity: u64, devices: u32, start: u64, tracked: bool) -> Map {
        Map {
            capacity,
            used: (0..devices).map(|_| Arc::default()).collect(),
            next: FIRST + start.min(ROOM) / GAP * GAP,
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            freed_order: VecDeque::new(),
            snapshots: Vec::new(),
            tracked,
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn used(&self, device: u32) -> u64 {
        self.used.get(device as usize).map_or(0, |used| used.load(Ordering::Relaxed))
    }

    /// Memory without an address.
    pub(super) fn create(&mut self, bytes: u64, device: u32) -> Result<Physical, OutOfMemory> {
        let free = self.capacity.saturating_sub(self.used(device));
        let refused = OutOfMemory { requested: bytes, free };
        let used = self.used.get(device as usize).filter(|_| bytes <= free).ok_or(refused)?;
        used.fetch_add(bytes, Ordering::Relaxed);
        Physical::new(bytes, ALIGNMENT, device, Arc::clone(used), self.tracked).ok_or(refused)
    }

    /// As [`create`](Self::create), for several processes.
    #[cfg(target_os = "linux")]
    pub(super) fn create_shared(&mut self, bytes: u64, device: u32) -> Result<Physical, OutOfMemory> {
        let free = self.capacity.saturating_sub(self.used(device));
        let refused = OutOfMemory { requested: bytes, free };
        let used = self.used.get(device as usize).filter(|_| bytes <= free).ok_or(refused)?;
        used.fetch_add(bytes, Ordering::Relaxed);
        Physical::shared(bytes, device, Arc::clone(used)).ok_or(refused)
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) -> BTreeMap<u64, Arc<Allocation>> {
        self.snapshots.clear();
        std::mem::take(&mut self.live)
    }

    /// Enters an allocation at the address that it brings along.
    pub(super) fn enter(&mut self, allocation: Allocation) {
        let base = allocation.base();
        self.forget_freed(base, base.saturating_add(allocation.len()));
        self.live.insert(base, Arc::new(allocation));
        self.snapshots.clear();
    }

    /// Removes an entered allocation. It is not remembered as freed, because the host may soon reuse its addresses.
    pub(super) fn leave(&mut self, base: u64) -> Option<Arc<Allocation>> {
        self.snapshots.clear();
        self.live.remove(&base)
    }

    pub(super) fn allocate(&mut self, bytes: u64, device: u32, reach: Reach) -> Result<u64, OutOfMemory> {
        let free = self.capacity.saturating_sub(self.used(device));
        let refused = OutOfMemory { requested: bytes, free };
        let len = bytes.max(1);
        let rounded = len.checked_next_multiple_of(ALIGNMENT).ok_or(refused)?;
        if rounded > refused.free {
            return Err(refused);
        }
        let base = self.place(rounded).ok_or(refused)?;
        let allocation = Allocation::new(base, len, device, reach, self.tracked).ok_or(refused)?;
        if let Some(used) = self.used.get(device as usize) {
            used.fetch_add(rounded, Ordering::Relaxed);
        }
        self.live.insert(base, Arc::new(allocation));
        self.snapshots.clear();
        Ok(base)
    }

    /// Enters bytes that other processes can map, at a new address.
    pub(super) fn enter_shared(
        &mut self,
        shared: Shared,
        bytes: u64,
        device: u32,
        reach: Reach,
    ) -> Result<u64, OutOfMemory> {
        let free = self.capacity.saturating_sub(self.used(device));
        let refused = OutOfMemory { requested: bytes, free };
        let rounded = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(refused)?;
        if shared.counted && rounded > free {
            return Err(refused);
        }
        let base = self.place(rounded).ok_or(refused)?;
        let allocation = Allocation::shared(base, bytes, device, reach, shared);
        if let Some(used) = self.used.get(device as usize) {
            used.fetch_add(allocation.counted(), Ordering::Relaxed);
        }
        self.live.insert(base, Arc::new(allocation));
        self.snapshots.clear();
        Ok(base)
    }

    /// Puts the bytes of an allocation into a file.
    pub(super) fn move_to(&mut self, base: u64, file: &Arc<SharedFile>) -> bool {
        let Some(moved) = self.live.get(&base).and_then(|allocation| allocation.moved_to(file)) else {
            return false;
        };
        self.live.insert(base, Arc::new(moved));
        self.snapshots.clear();
        true
    }

    /// The allocation that starts at an address.
    pub(super) fn starting_at(&self, base: u64) -> Option<&Arc<Allocation>> {
        self.live.get(&base)
    }

    /// The same at an address that the caller has chosen; false if it is already in use, or there is no room.
    pub(super) fn allocate_at(&mut self, base: u64, bytes: u64, device: u32) -> bool {
        let Some(end) = base.checked_add(bytes).filter(|_| bytes > 0 && base.is_multiple_of(ALIGNMENT))
        else {
            return false;
        };
        let before = self.live.range(..end).next_back();
        let is_free = before.is_none_or(|(_, allocation)| allocation.base() + allocation.len() <= base);
        let counted = bytes.next_multiple_of(ALIGNMENT);
        if !is_free || counted > self.capacity.saturating_sub(self.used(device)) {
            return false;
        }
        let Some(allocation) = Allocation::new(base, bytes, device, Reach::Peers, self.tracked) else {
            return false;
        };
        if let Some(used) = self.used.get(device as usize) {
            used.fetch_add(counted, Ordering::Relaxed);
        }
        self.enter(allocation);
        true
    }

    /// An address with `rounded` free bytes and a gap after them.
    fn place(&mut self, rounded: u64) -> Option<u64> {
        let span = rounded.checked_add(GAP)?.checked_next_multiple_of(GAP)?;
        if span > END - FIRST {
            return None;
        }
        let mut base = if END - self.next >= span { self.next } else { FIRST };
        // After wrapping around, live allocations are skipped.
        let mut restarted = base == FIRST;
        loop {
            let blocking =
                self.live.range(..base + span).next_back().filter(|(_, a)| a.base() + a.len() + GAP > base);
            let Some((_, allocation)) = blocking else { break };
            base = (allocation.base() + allocation.len() + GAP).next_multiple_of(GAP);
            if END - base < span {
                if restarted {
                    return None;
                }
                (base, restarted) = (FIRST, true);
            }
        }
        self.next = base + span;
        self.forget_freed(base, base + span);
        Some(base)
    }

    /// Drops remembered freed ranges that a new allocation covers.
    fn forget_freed(&mut self, from: u64, to: u64) {
        let covered: Vec<u64> = self.freed.range(from..to).map(|(base, _)| *base).collect();
        for base in covered {
            self.freed.remove(&base);
            self.freed_order.retain(|other| *other != base);
        }
    }

    pub(super) fn free(&mut self, address: u64) -> Result<Arc<Allocation>, NotAnAllocation> {
        let Some(allocation) = self.live.remove(&address) else {
            return Err(NotAnAllocation { address, description: self.describe(address, 1) });
        };
        if let Some(used) = self.used.get(allocation.device() as usize) {
            used.fetch_sub(allocation.counted(), Ordering::Relaxed);
        }
        self.snapshots.clear();
        if allocation.is_on_host() {
            // The host may soon reuse these addresses.
            return Ok(allocation);
        }
        self.freed.insert(address, allocation.len());
        self.freed_order.push_back(address);
        if self.freed_order.len() > REMEMBERED
            && let Some(oldest) = self.freed_order.pop_front()
        {
            self.freed.remove(&oldest);
        }
        Ok(allocation)
    }

    pub(super) fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        let (base, allocation) = self.live.range(..=address).next_back()?;
        (address - base < allocation.len()).then_some(allocation)
    }

    /// The device address of a byte that the host has there, in a scan of all allocations.
    pub(super) fn device_address(&self, host: u64) -> Option<u64> {
        self.live.values().find_map(|allocation| {
            let offset = host.checked_sub(allocation.host().addr() as u64)?;
            (offset < allocation.len()).then(|| allocation.base() + offset)
        })
    }

    /// Makes these devices reach the allocation that starts at `address`.
    pub(super) fn grant(&mut self, address: u64, devices: u32) -> Result<(), NotAnAllocation> {
        let Some(allocation) = self.live.get(&address) else {
            return Err(NotAnAllocation { address, description: self.describe(address, 1) });
        };
        allocation.grant(devices);
        self.snapshots.clear();
        Ok(())
    }

    /// The allocations that kernels of that device can access.
    pub(super) fn snapshot(&mut self, view: View) -> Arc<Snapshot> {
        if let Some((_, known)) = self.snapshots.iter().find(|(known, _)| *known == view) {
            return Arc::clone(known);
        }
        let reached = self.live.values().filter(|allocation| allocation.is_reached(view.device, view.peers));
        let made = Arc::new(Snapshot::new(reached.cloned().collect(), view.device));
        self.snapshots.push((view, Arc::clone(&made)));
        made
    }

    pub(super) fn describe(&self, address: u64, bytes: u64) -> String {
        if let Some(allocation) = self.find(address) {
            let (base, len) = (allocation.base(), allocation.len());
            let room = len - (address - base);
            return if bytes <= room {
                format!("inside the allocation 0x{base:x} of {len} bytes, at offset {}", address - base)
            } else {
                format!("{} bytes past the end of the allocation 0x{base:x} of {len} bytes", bytes - room)
            };
        }
        if let Some((base, len)) = self.freed.range(..=address).next_back()
            && address - base < *len
        {
            let offset = address - base;
            return format!("inside the freed allocation 0x{base:x} of {len} bytes, at offset {offset}");
        }
        self.describe_distance(address)
    }

    /// Describes the nearest allocation for an address that was never allocated.
    fn describe_distance(&self, address: u64) -> String {
        /// Farther than this, the neighbour has nothing to do with it.
        const NEAR: u64 = 1 << 30;
        let below =
            self.nearest_below(address).map(|(base, len, freed)| (address - (base + len), base, len, freed));
        let above = self
            .live
            .range(address..)
            .next()
            .map(|(base, allocation)| (base - address, *base, allocation.len()));
        match (below, above) {
            (Some((past, base, len, freed)), _)
                if past < NEAR.min(above.map_or(NEAR, |(before, ..)| before)) =>
            {
                let freed = if freed { "freed " } else { "" };
                format!("{past} bytes past the end of the {freed}allocation 0x{base:x} of {len} bytes")
            }
            (_, Some((before, base, len))) if before < NEAR => {
                format!("{before} bytes before the allocation 0x{base:x} of {len} bytes")
            }
            _ if address < 4096 => "a null pointer, or one computed from it".to_owned(),
            _ => "no allocation is near".to_owned(),
        }
    }

    /// The last live or freed range that ends at or before `address`: base, length, whether freed.
    fn nearest_below(&self, address: u64) -> Option<(u64, u64, bool)> {
        let live = self.live.range(..=address).next_back().map(|(base, a)| (*base, a.len(), false));
        let freed = self.freed.range(..=address).next_back().map(|(base, len)| (*base, *len, true));
        live.into_iter().chain(freed).max_by_key(|(base, len, _)| base + len)
    }
}
